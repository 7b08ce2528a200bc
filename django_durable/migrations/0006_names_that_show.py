from django.db import migrations

from django_durable.migrations._schema import RunStatements


class Migration(migrations.Migration):
    """Functions that took ids of marks which nobody can see are replaced."""

    dependencies = [
        ("durable", "0005_delays_in_seconds"),
    ]

    operations = [
        RunStatements("create_functions", "bound_locks"),  # what they were is no loss on the way back
    ]
