# SPDX-License-Identifier: Apache-2.0
"""The type stub and a document agree with the core's descriptions; tests/generated.py rewrites them."""

from __future__ import annotations

import generated


def test_the_type_stub_matches_the_bindings() -> None:
    assert generated.STUB.read_text(encoding="utf-8") == generated.stub()


def test_the_document_has_the_columns_of_the_tables() -> None:
    assert generated.QUERY.read_text(encoding="utf-8") == generated.documented()
