"""The workflow functions of this process."""

from __future__ import annotations

from django_durable.core.declaration import WorkflowDeclaration
from django_durable.core.registry import Registry

workflows: Registry[WorkflowDeclaration] = Registry()
