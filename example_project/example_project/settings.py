"""Settings of the example shop. Everything a deployment would change is read from the environment."""

from __future__ import annotations

from pathlib import Path

import environ

from example_project import mail
from example_project.database import database

env = environ.Env()
BASE_DIR = Path(__file__).resolve().parent.parent

DEBUG = env.bool("DEBUG", True)
DEV_KEY = "windsock-development-only-not-a-secret-set-SECRET_KEY-when-DEBUG-is-off"
SECRET_KEY = env.str("SECRET_KEY", DEV_KEY) if DEBUG else env.str("SECRET_KEY")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_durable",
    "shop",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "shop.middleware.content_security_policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "example_project.urls"
WSGI_APPLICATION = "example_project.wsgi.application"
ASGI_APPLICATION = "example_project.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- database: DATABASE_URL, or a private server beside this project that starts when it is first needed
DEVDB_ROOT = BASE_DIR / ".devdb"
DATABASE_URL = env.str("DATABASE_URL", "")
PRIVATE = {"ENGINE": "example_project.lazydb", "NAME": "example"}
SERVER = {
    **(database(DATABASE_URL) if DATABASE_URL else PRIVATE),
    "CONN_MAX_AGE": 60,
    "CONN_HEALTH_CHECKS": True,
}
DATABASES = {
    "default": SERVER,
    # the same database by a connection of its own: what stands for the world outside the shop's transactions
    "outside": {**SERVER, "TEST": {"MIRROR": "default"}},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- django_durable
DURABLE = {
    "QUEUES": {"orders": {}, "imports": {"concurrency": 2}},
    "LEASE": env.float("DURABLE_LEASE", 30),
}

# --- the shop
FILES = Path(env.str("SHOP_FILES", str(BASE_DIR)))  # where letters and the logs of the demo go
SHOP_LETTERS = FILES / ".mail"
SHOP_LOGS = FILES / ".demo"
SHOP_GATEWAY_SECONDS = env.float("SHOP_GATEWAY_SECONDS", 0.8)  # how long the pretended payment provider takes

globals().update(mail.to_files(SHOP_LETTERS))
DEFAULT_FROM_EMAIL = "Windsock <orders@windsock.example>"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / ".static"
