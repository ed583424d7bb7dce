// Starts `slvrc lsp` and lets it answer for .slvr files. Highlighting needs none of this.
const { commands, window, workspace } = require("vscode");

let client;

async function start() {
  const { LanguageClient } = require("vscode-languageclient/node");
  const command = workspace.getConfiguration("slvr").get("path") || "slvrc";
  client = new LanguageClient(
    "slvr",
    "SLVR",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ language: "slvr" }],
      initializationOptions: { sizes: workspace.getConfiguration("slvr").get("sizes") },
      synchronize: { configurationSection: "slvr" },
    },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showWarningMessage(
      `SLVR: cannot start \`${command} lsp\` (${error.message}). Set "slvr.path" to the slvrc binary.`,
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

exports.activate = async (context) => {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(commands.registerCommand("slvr.restart", restart));
  context.subscriptions.push(
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("slvr.path")) restart();
    }),
  );
  await start();
};

exports.deactivate = stop;
