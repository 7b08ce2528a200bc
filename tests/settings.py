"""A host project as small as the app allows: the tests' settings, for their child processes too."""

from __future__ import annotations

import os

import environ

from example_project import devdb
from example_project.database import database

env = environ.Env()

# Set for this process and its children, such as the tests' own workers: all share one server. Each process of
# xdist has its own: what runs in another database of a server is seen in each snapshot and in its locks.
TESTER = env.str("PYTEST_XDIST_WORKER", default="all")
if not env.str("DATABASE_URL", default="") or env.str("SERVER_MADE_FOR", default=TESTER) != TESTER:
    os.environ |= {"DATABASE_URL": devdb.ephemeral_url(), "SERVER_MADE_FOR": TESTER}

DATABASES = {"default": database(env.str("DATABASE_URL"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DURABLE: dict[str, object] = {}
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_durable",
    "tests.testapp",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick: no password here is worth more
ROOT_URLCONF = "tests.urls"
SECRET_KEY = "for tests only"
STATIC_URL = "static/"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
TIME_ZONE = "UTC"
USE_TZ = True
