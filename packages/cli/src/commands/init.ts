import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CONFIG_FILE_NAME, loadConfig, locateRuntimes, readHostEnvironment } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { UsageError } from '../usage-error.ts';

export const command = defineCommand({
  usage: '[--runtime NAME]',
  about:
    'Writes caisson.yaml into the project root, or into the current folder outside of any project. Never overwrites.',
  options: {
    runtime: {
      type: 'string',
      value: 'NAME',
      summary: 'default runtime to write; otherwise the first one found',
    },
  },
  examples: [
    { line: 'caisson init', says: 'A first caisson.yaml, every line explained.' },
    { line: 'caisson init --runtime codex', says: 'The same with codex as the default runtime.' },
  ],
  async run({ options, output }) {
    const config = await loadConfig();
    const file = join(config.projectRoot, CONFIG_FILE_NAME);
    const found = locateRuntimes({
      env: readHostEnvironment(),
      home: config.folders.home,
      runtimes: config.runtimes,
    });
    const runtime = options.runtime ?? found.find(({ path }) => path !== null)?.name ?? null;
    await writeNew(file, createTemplate(runtime));
    output.result({ file, runtime }, () => [
      `wrote ${file}${runtime === null ? '' : ` with ${runtime} as the default runtime`}`,
      'Next: caisson doctor',
    ]);
    return EXIT_CODES.finished;
  },
});

async function writeNew(file: string, text: string): Promise<void> {
  try {
    const handle = await open(file, 'wx');
    try {
      await handle.writeFile(text);
      await handle.sync();
    } catch (error) {
      await rm(file, { force: true }); // half a file would be read as a complete one
      throw error;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (error.code === 'EEXIST')
      throw new UsageError(`${file} exists already and was left as it is.`, {
        remedy: 'caisson config shows its values.',
        cause: error,
      });
    throw new UsageError(`${file} could not be written: ${error.message}.`, {
      remedy:
        error.code === 'ENOSPC'
          ? 'Free some space on that disk.'
          : 'Make the folder writable, or change to another one.',
      cause: error,
    });
  }
}

/**
 * Lines that start with `# ` and a key are settings at their default or an example: without the mark they are valid
 * YAML.
 */
export function createTemplate(runtime: string | null): string {
  return `# Caisson: how coding agents run in this project. Every key is optional.
# caisson config shows what holds and why.

${runtime === null ? '# runtime: codex' : `runtime: ${runtime}`}
mode: auto-edit

# runtimes:
#   codex:
#     apiKey: env:OPENAI_API_KEY
#     model: gpt-5

# agents:
#   reviewer:
#     mode: suggest
#     systemPrompt: Review the change. Point at lines.
#     verify: { command: npm test, timeout: 10m }

# workspace:
#   include: [node_modules]
#   setup: npm ci

# limits:
#   timeout: 30m
#   memory: 4g
#   pids: 512

# budget:
#   perRunUsd: 2
#   perDayUsd: 50

# network:
#   hosts: ["registry.npmjs.org:443"]

# policy:
#   ceiling: full-auto
#   rules:
#     - { path: "secrets/**", action: no-access, reason: Secrets are not for agents. }
`;
}
