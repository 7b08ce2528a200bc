"""The shop's own tests: `manage.py test shop`."""
