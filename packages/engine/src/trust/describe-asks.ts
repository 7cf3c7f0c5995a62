/** Describes what a project asks for, in words that a person can agree to. */
import { formatSetting, isRecord } from '@caisson/protocol';
import type { Ask } from '../config/index.ts';
import type { AskLine } from './contract.ts';
import { digestNamedFiles } from './named-files.ts';

/** The first pattern that fits describes the consequence. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [
    /^runtimes\.[^.]+\.bin$/,
    'starts this program: inside the sandbox for the work, outside of it for its version',
  ],
  [/^runtimes\.[^.]+\.adapter$/, 'loads this code into the worker, outside the sandbox'],
  [/^runtimes\.[^.]+\.endpoint$/, 'sends prompts, files and answers to this address'],
  [/^runtimes\.[^.]+\.login$/, 'shows the log-in files of this program to the sandbox'],
  [/^runtimes\.[^.]+\.(settings|env)$/, "changes the agent program's own settings or environment"],
  [/^runtimes\.[^.]+\.projectServers$/, 'starts the MCP servers that the repository names, in the sandbox'],
  [/^network\.services$/, 'reaches this service with a key of yours'],
  [/^network\.hosts$|\.grant\.hosts$/, 'lets what runs in the sandbox reach these hosts'],
  [
    /^git\.url$/,
    'lets runs work on this repository instead of the project; git runs the hooks of a local one outside the sandbox',
  ],
  [/^git\.token$/, 'sends this token of yours to the remote repository'],
  [/^git\.(knownHosts|identity)$/, 'decides which hosts are trusted, or which key of yours is used, for ssh'],
  [
    /^senses\./,
    'runs this code by itself, whenever a daemon serves the project: in a sandbox that may read the project, and what it names here',
  ],
  [
    /^workflows\./,
    'runs this code by itself, in a sandbox that may read the project and what it names here; it starts agents, up to this mode and budget',
  ],
  [/^schedules\./, 'starts this by itself at these times, whenever a daemon serves the project'],
  [/^callbacks$/, 'reports every ending to this address'],
  [/^envs\./, 'puts these values into the environment of what runs'],
  [/^agents\.[^.]+\.envs$/, 'gives these env bundles to this agent'],
  [/^store/, 'copies what runs produce to this bucket'],
  [/^sandbox\.toolchains$/, 'shows these folders of your home to the sandbox'],
  [/^workspace\.include$/, 'copies these ignored files into the workspace of the agent'],
  [/^workspace\.setup$|^pipelines\.|\.verify$/, 'runs this in the sandbox without the policy gate'],
  [/^capabilities/, 'copies these files over the workspace and runs their setup in the sandbox'],
  [/^keys\./, 'signs evidence with a key of this agent'],
  [/^telemetry/, 'reports what every run did to this address: names, counts and times'],
  [/^evidence\./, 'writes a line for every seal there'],
  [/^state$/, "keeps Caisson's records here"],
  [/^(mode|policy\.ceiling)$|\.mode$/, 'lets agents do more without asking than your default allows'],
  [
    /^(limits|budget|git|sandbox|workspace)\.|\.(timeout|limits|budget|depth)\b/,
    'raises a limit above your default',
  ],
];

export async function describeAsks(projectRoot: string, asks: readonly Ask[]): Promise<AskLine[]> {
  const lines = await Promise.all(
    asks.map(async ({ path, value }) => {
      const key = path.join('.');
      const secrets = listRefs(value);
      return {
        key,
        value: formatSetting(key, value),
        meaning: [describeKey(key), ...describeGrants(key, value), ...secrets.map(describeRef)]
          .filter((text) => text !== '')
          .join('; '),
        files: await digestNamedFiles(projectRoot, path, value),
      };
    }),
  );
  return lines.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/** One line of text for one thing: the record stores it, and differences compare it. */
export function formatAsk({ key, value, files }: AskLine): string {
  return [`${key}: ${value}`, ...files.map(({ path, sha256 }) => `[${path} ${sha256.slice(0, 12)}]`)].join(
    ' ',
  );
}

function describeKey(key: string): string {
  return MEANINGS.find(([pattern]) => pattern.test(key))?.[1] ?? '';
}

function describeGrants(key: string, value: unknown): string[] {
  if (!/^(senses|workflows)\./.test(key) || !isRecord(value)) return [];
  const grants = [
    ['write to', value['write']],
    ['reach', value['hosts']],
  ] as const;
  return grants.flatMap(([what, names]) =>
    Array.isArray(names) && names.length > 0 ? [`it may ${what} ${names.join(', ')}`] : [],
  );
}

function describeRef(ref: string): string {
  const what = ref.slice(ref.indexOf(':') + 1);
  if (ref.startsWith('exec:')) return `runs "${what}" on this machine, outside any sandbox`;
  if (ref.startsWith('file:')) return `reads the file ${what}`;
  if (ref.startsWith('env:')) return `reads the variable ${what}`;
  return `reads the secret ${ref}`;
}

function listRefs(value: unknown): string[] {
  if (typeof value === 'string') return /^(exec|file|env|aws-sm):./s.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(listRefs);
}
