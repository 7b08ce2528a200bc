from django.db import migrations

from django_durable.migrations._schema import RunStatements


class Migration(migrations.Migration):
    """Functions that were made before they counted delays in seconds are replaced."""

    dependencies = [
        ("durable", "0004_rare_ends"),
    ]

    operations = [
        RunStatements("create_functions", "bound_locks"),  # what they were is no loss on the way back
    ]
