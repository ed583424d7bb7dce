-- What a day in Neovim needs of `slvrc lsp`: diagnostics, hover, rename, code action, inlay hints. Run by `.ci/editors` as
-- `nvim --headless --clean -c 'luafile neovim.lua'`, with SLVRC naming the binary. The exit status says how it went.
local text = [[
// slvr: m=3
use std::{sum};

predicate Kept[m]() {
    parties Client[m];
    parties Server;

    input update: secret fix[4] in -8..8 from each Client;

    let keep = [norm(update[i]) < 4 for i in Client];

    reveal [sum(keep[i] * update[i][j] for i in Client) for j in 4] to Server as kept;
}
]]

local function wait(what, check)
  local last
  local done = vim.wait(20000, function()
    last = check()
    return last
  end, 20)
  if not done then
    error("no " .. what)
  end
  print("ok   " .. what)
  return last
end

local function line(n)
  return vim.api.nvim_buf_get_lines(0, n - 1, n, false)[1]
end

local function run()
  local file = vim.fn.tempname() .. ".slvr"
  vim.fn.writefile(vim.split(text, "\n"), file)
  vim.filetype.add({ extension = { slvr = "slvr" } })
  vim.lsp.config("slvr", { cmd = { vim.env.SLVRC or "slvrc", "lsp" }, filetypes = { "slvr" } })
  vim.lsp.enable("slvr")
  vim.cmd.edit(file)
  vim.cmd.doautocmd("FileType")

  wait("diagnostics", function()
    local found = vim.diagnostic.get(0)
    return #found > 0 and found[1].code == "E0004" and found[1].message:match("use std::{norm}")
  end)
  local client = vim.lsp.get_clients({ name = "slvr" })[1]
  -- The first code action at the message imports what is missing.
  vim.api.nvim_win_set_cursor(0, { 10, 16 })
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      return action.title:match("std::{norm}") and action.kind == "quickfix"
    end,
  })
  wait("code action", function()
    return line(2) == "use std::{norm, sum};"
  end)
  wait("diagnostics that go away", function()
    for _, d in ipairs(vim.diagnostic.get(0)) do
      if d.severity == vim.diagnostic.severity.ERROR then
        return false
      end
    end
    return true
  end)

  local params = function()
    return vim.lsp.util.make_position_params(0, client.offset_encoding)
  end
  vim.api.nvim_win_set_cursor(0, { 10, 21 })
  local hover = client:request_sync("textDocument/hover", params(), 5000, 0).result
  assert(hover.contents.value:match("input update: secret fix"), vim.inspect(hover))
  print("ok   hover")

  vim.lsp.buf.rename("moved")
  wait("rename", function()
    return line(8):match("input moved:") and line(10):match("norm%(moved%[i%]%)")
  end)

  vim.lsp.inlay_hint.enable(true)
  local hints = wait("inlay hints", function()
    for _, hint in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
      local label = hint.inlay_hint.label
      if hint.inlay_hint.position.line == 9 and label:match("^waits %d+ · .*±") then
        return label
      end
    end
  end)
  print("     " .. hints)
  vim.cmd("bwipeout!")
end

local ok, why = pcall(run)
if not ok then
  io.stderr:write("\nneovim: " .. tostring(why) .. "\n")
  vim.cmd("cquit 1")
end
print("\n")
vim.cmd("qall!")
