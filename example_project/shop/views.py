"""The shop's pages. Placing an order and starting an import only write rows: workers do the work."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from shop import catalogue, counter, progress
from shop.forms import BuyForm
from shop.models import CatalogueImport, Order, Product


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The shop window and, page by page, everything else."""
    words = request.GET.get("q", "").replace("\0", "").strip()[:100]
    found = Product.objects.matching(words).in_shop_order().select_related("stock")
    return render(request, "shop/home.html", {"words": words, "page": _page(request, found, 24)})


@require_http_methods(["GET", "POST"])
def product(request: HttpRequest, sku: str) -> HttpResponse:
    """One print, and the till."""
    chosen = get_object_or_404(Product.objects.select_related("stock"), sku=sku)
    form = BuyForm(request.POST or None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        asked = form.cleaned_data
        return redirect(counter.place_order(asked["email"], asked["card"], [(chosen, asked["quantity"])]))
    return render(request, "shop/product.html", {"product": chosen, "form": form})


@require_GET
def orders(request: HttpRequest) -> HttpResponse:
    """Newest first."""
    listed = Order.objects.prefetch_related("lines__product")
    return render(request, "shop/orders.html", {"page": _page(request, listed, 25)})


@never_cache
@require_GET
def order(request: HttpRequest, pk: int) -> HttpResponse:
    """One order and how far it has come."""
    chosen = get_object_or_404(Order.objects.prefetch_related("lines__product", "shipments"), pk=pk)
    return render(request, "shop/order.html", {"order": chosen, "progress": progress.of_order(chosen)})


@never_cache
@require_GET
def order_progress(request: HttpRequest, pk: int) -> JsonResponse:
    """What the order's page asks for again and again."""
    return JsonResponse(progress.of_order(get_object_or_404(Order, pk=pk)).as_json())


@never_cache
@require_http_methods(["GET", "POST"])
def imports(request: HttpRequest) -> HttpResponse:
    """Start an import of the public catalogue file; see those that were."""
    if request.method == "POST":
        return redirect(counter.start_import())
    context = {
        "source": catalogue.SOURCE,
        "release": catalogue.release(),
        "rows": len(catalogue.rows()),
        "page": _page(request, CatalogueImport.objects.all(), 10),
    }
    return render(request, "shop/imports.html", context)


@never_cache
@require_GET
def catalogue_import(request: HttpRequest, pk: int) -> HttpResponse:
    """One import and its progress bar."""
    chosen = get_object_or_404(CatalogueImport, pk=pk)
    return render(request, "shop/import.html", {"import": chosen, "progress": progress.of_import(chosen)})


@never_cache
@require_GET
def import_progress(request: HttpRequest, pk: int) -> JsonResponse:
    """What the import's page asks for again and again."""
    return JsonResponse(progress.of_import(get_object_or_404(CatalogueImport, pk=pk)))


def _page(request: HttpRequest, listed: QuerySet[Any], size: int) -> Page[Any]:
    return Paginator(listed, size).get_page(request.GET.get("page"))
