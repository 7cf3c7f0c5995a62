// esbuild plugins: what a bundle does not take in, because few of its processes need it.

/** A bundle of the CLI with these commands only. */
export const onlyCommands = (names) => ({
  name: 'only-commands',
  setup(pluginBuild) {
    pluginBuild.onResolve({ filter: /^\.\/commands\// }, ({ path, kind }) => {
      const isOther =
        kind === 'dynamic-import' && !names.includes(path.slice('./commands/'.length, -'.ts'.length));
      return isOther ? { path, external: true } : undefined;
    });
  },
});

/** What is at `from` is loaded from the bundle `to`, beside the one that loads it. */
const leaveApart = (from, to) => ({
  name: `${from}-apart`,
  setup(pluginBuild) {
    pluginBuild.onResolve({ filter: new RegExp(`/${from}\\.ts$`) }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: `./${to}`, external: true } : undefined,
    );
  },
});

/** A client of a daemon loads the engine from beside it, if it must (decision 0039). */
export const engineApart = leaveApart('in-process', 'engine.cjs');

/**
 * The MCP SDK brings all of zod. In a chunk of the worker esbuild could not leave out what the worker itself does not
 * use of it (4 ms of every start), so it is a separate bundle, loaded from beside the worker.
 */
export const mcpServerApart = leaveApart('mcp-server', 'mcp-server.mjs');

/** OpenTelemetry, for those who export spans (decision 0041). */
export const otelApart = leaveApart('otel-export', 'otel-export.mjs');

/** The MCP server of `caisson mcp`, with its SDK (decision 0061). */
export const mcpFaceApart = leaveApart('mcp-face', 'mcp-face.mjs');

/**
 * The rules, with the shell parser and the matcher of paths: a third of the worker's code, which no command needs. They are
 * asked for by `require`, also where the source says `import()`: Node's loader of ES modules would cost more than it saves.
 */
export const policyApart = {
  name: 'policy-apart',
  setup(pluginBuild) {
    pluginBuild.onResolve({ filter: /^@caisson\/policy$|\/packages\/policy\/src\// }, ({ kind }) =>
      kind === 'entry-point' ? undefined : { path: 'policy', namespace: 'policy-apart', sideEffects: false },
    );
    pluginBuild.onResolve({ filter: /^\.\/start-policy\.cjs$/ }, ({ path }) => ({ path, external: true }));
    pluginBuild.onLoad({ filter: /./, namespace: 'policy-apart' }, () => ({
      contents: `module.exports = require('./start-policy.cjs');`,
    }));
  },
};
