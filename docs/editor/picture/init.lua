-- Neovim as the book has it, with hints, lenses and messages shown.
vim.o.termguicolors = true
vim.o.background = "light"
vim.o.laststatus = 0
vim.o.cmdheight = 0
vim.o.number = true
vim.o.signcolumn = "no"
vim.filetype.add({ extension = { slvr = "slvr" } })
vim.lsp.config("slvr", { cmd = { vim.env.SLVRC or "slvrc", "lsp" }, filetypes = { "slvr" } })
vim.lsp.enable("slvr")
vim.diagnostic.config({ virtual_text = { prefix = "●" }, underline = true })
vim.api.nvim_set_hl(0, "LspInlayHint", { fg = "#7a7a7a", italic = true })
vim.api.nvim_set_hl(0, "LspCodeLens", { fg = "#7a7a7a" })
vim.api.nvim_create_autocmd("LspAttach", {
  callback = function(of)
    vim.lsp.inlay_hint.enable(true)
    local refresh = function()
      vim.lsp.codelens.refresh({ bufnr = of.buf })
    end
    for later = 1, 8 do
      vim.defer_fn(refresh, later * 1000)
    end
    -- Neovim 0.11 does not draw hints that come while it draws messages.
    for later = 3, 8 do
      vim.defer_fn(function()
        vim.lsp.inlay_hint.enable(false)
        vim.lsp.inlay_hint.enable(true)
      end, later * 1000)
    end
  end,
})
