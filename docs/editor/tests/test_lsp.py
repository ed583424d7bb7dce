"""Every request of `slvrc lsp`, made by pytest-lsp. `.ci/editors` runs it, with SLVRC naming the binary."""

import asyncio
import os

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

URI = "file:///home/me/kept.slvr"
TEXT = """\
// slvr: m=3
use std::{norm, sum};

// Whether it is short.
fn short[n](x: fix[n], bound: fix) -> bit {
    norm(x) < bound
}

predicate Kept[m]() {
    parties Client[m];
    parties Server;

    input update: secret fix[4] in -8..8 from each Client;

    let keep = [short(update[i], 4) for i in Client];

    reveal [sum(keep[i] * update[i][j] for i in Client) for j in 4] to Server as kept;
}
"""


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[os.environ.get("SLVRC", "slvrc"), "lsp"])
)
async def client(lsp_client: LanguageClient):
    for asked in (
        lsp.CLIENT_REGISTER_CAPABILITY,
        lsp.WORKSPACE_INLAY_HINT_REFRESH,
        lsp.WORKSPACE_CODE_LENS_REFRESH,
    ):
        lsp_client.feature(asked)(lambda *_: None)
    params = lsp.InitializeParams(capabilities=client_capabilities("visual-studio-code"))
    await lsp_client.initialize_session(params)
    lsp_client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(URI, "slvr", 1, TEXT))
    )
    yield
    await lsp_client.shutdown_session()


DOCUMENT = lsp.TextDocumentIdentifier(URI)
WHOLE = lsp.Range(lsp.Position(0, 0), lsp.Position(999, 0))


def at(what: str, nth: int = 0):
    """The place of the nth occurrence of a text."""
    where = -1
    for _ in range(nth + 1):
        where = TEXT.index(what, where + 1)
    before = TEXT[:where]
    return {
        "text_document": DOCUMENT,
        "position": lsp.Position(before.count("\n"), len(before) - before.rfind("\n") - 1),
    }


async def compiled(client):
    """What stands behind lines, once it is there."""
    for _ in range(600):
        found = await client.text_document_inlay_hint_async(lsp.InlayHintParams(DOCUMENT, WHOLE))
        if found:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError("no hints")


def change(client, version: int, changes):
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(version, URI), changes
        )
    )


async def test_hover(client):
    found = await client.text_document_hover_async(lsp.HoverParams(**at("update[i]")))
    assert "input update: secret fix[4]" in found.contents.value


async def test_definition(client):
    found = await client.text_document_definition_async(lsp.DefinitionParams(**at("norm(x)")))
    assert found.uri.endswith("std/norms.slvr") or "/std/" in found.uri


async def test_references_and_highlights(client):
    context = lsp.ReferenceContext(include_declaration=True)
    params = lsp.ReferenceParams(context=context, **at("update[i]"))
    assert len(await client.text_document_references_async(params)) == 3
    params = lsp.DocumentHighlightParams(**at("keep"))
    assert len(await client.text_document_document_highlight_async(params)) == 2


async def test_rename(client):
    found = await client.text_document_prepare_rename_async(lsp.PrepareRenameParams(**at("keep")))
    assert found.start.line == 14
    params = lsp.RenameParams(new_name="good", **at("keep"))
    found = await client.text_document_rename_async(params)
    assert [edit.new_text for edit in found.changes[URI]] == ["good", "good"]
    # The size stands in the comment, too, and is what others call it.
    params = lsp.RenameParams(new_name="clients", **at("m]() {"))
    found = await client.text_document_rename_async(params)
    assert found.changes[URI][0].range.start.line == 0 and len(found.changes[URI]) == 3
    assert "command lines" in client.messages[-1].message


async def test_saved_models(client):
    params = lsp.DidSaveTextDocumentParams(DOCUMENT)
    client.text_document_did_save(params)
    assert await compiled(client)


async def test_completion(client):
    params = lsp.CompletionParams(**at("norm(x)"))
    found = await client.text_document_completion_async(params)
    assert "short" in [item.label for item in found]


async def test_signature(client):
    place = at("4) for i")
    found = await client.text_document_signature_help_async(lsp.SignatureHelpParams(**place))
    assert found.signatures[0].label.startswith("fn short[n]")
    assert found.active_parameter == 1


async def test_formatting(client):
    options = lsp.FormattingOptions(tab_size=4, insert_spaces=True)
    params = lsp.DocumentFormattingParams(DOCUMENT, options)
    assert not await client.text_document_formatting_async(params)


async def test_symbols(client):
    found = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(DOCUMENT))
    assert [symbol.name for symbol in found] == ["short", "Kept"]
    found = await client.workspace_symbol_async(lsp.WorkspaceSymbolParams("median"))
    assert "lower_median" in [symbol.name for symbol in found]


async def test_tokens_folds_and_selections(client):
    params = lsp.SemanticTokensParams(DOCUMENT)
    found = await client.text_document_semantic_tokens_full_async(params)
    assert len(found.data) % 5 == 0 and len(found.data) > 100
    found = await client.text_document_folding_range_async(lsp.FoldingRangeParams(DOCUMENT))
    assert (8, 16) in [(fold.start_line, fold.end_line) for fold in found]
    params = lsp.SelectionRangeParams(DOCUMENT, [at("norm(x)")["position"]])
    found = await client.text_document_selection_range_async(params)
    assert found[0].range.start.line == 5 and found[0].parent.parent is not None


async def test_hints_and_lens(client):
    found = await compiled(client)
    labels = {hint.position.line: hint.label for hint in found}
    assert "waits" in labels[14] and "±" in labels[16]
    found = await client.text_document_code_lens_async(lsp.CodeLensParams(DOCUMENT))
    assert "reveals kept to Server (m=3)" in found[0].command.title
    command = found[0].command
    params = lsp.ExecuteCommandParams(command=command.command, arguments=command.arguments)
    await client.workspace_execute_command_async(params)


async def test_diagnostics_and_actions(client):
    await compiled(client)
    line = lsp.Range(lsp.Position(14, 16), lsp.Position(14, 21))
    change(client, 2, [lsp.TextDocumentContentChangePartial(text="shrot", range=line)])
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    while not any(d.code == "E0004" for d in client.diagnostics[URI]):
        await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    found = next(d for d in client.diagnostics[URI] if d.code == "E0004")
    assert found.range == line and found.code_description.href.endswith("E0004.md")
    context = lsp.CodeActionContext(diagnostics=[found])
    params = lsp.CodeActionParams(DOCUMENT, line, context)
    actions = await client.text_document_code_action_async(params)
    titles = [action.title for action in actions]
    assert "did you mean `short`?" in titles and len(titles) == 2


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
