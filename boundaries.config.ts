/**
 * The architecture as a table: which package may import which, and which may do what. `npm run check-boundaries`
 * enforces it. A change here is a change of the architecture; say why in the commit.
 */

export interface PackageRule {
  /** Workspace packages it may import. */
  readonly packages: readonly string[];
  /** npm packages it may import; `any` leaves that to its package.json. */
  readonly npm: readonly string[] | 'any';
  /** Whether it may use Node. A pure package also runs in a browser. */
  readonly usesNode: boolean;
}

export const PACKAGES: Readonly<Record<string, PackageRule>> = {
  protocol: { packages: [], npm: ['zod'], usesNode: false },
  policy: { packages: ['protocol'], npm: ['zod', 'picomatch', 'unbash'], usesNode: false },
  ground: { packages: ['protocol'], npm: 'any', usesNode: true },
  engine: { packages: ['protocol', 'policy', 'ground'], npm: 'any', usesNode: true },
  worker: { packages: ['protocol', 'policy', 'ground'], npm: 'any', usesNode: true },
  testkit: { packages: ['protocol'], npm: 'any', usesNode: true },
  // Runs in a browser: of the protocol it takes types alone.
  dashboard: { packages: ['protocol'], npm: ['react', 'react-dom'], usesNode: false },
  cli: { packages: ['protocol', 'policy', 'engine'], npm: [], usesNode: true },
};

/** The rooms of one package. Every file of it is in a room or belongs to the roots. */
export interface RoomRule {
  /** Room → rooms whose door it may open. `platform` is open to all. */
  readonly rooms: Readonly<Record<string, readonly string[]>>;
  /** Files, and folders with a slash at the end, where rooms are joined. They may open every door; no room imports them. */
  readonly roots: readonly string[];
  /** Whether only the roots may call what is named `create…` or `open…` of a room. */
  readonly constructsInRoots: boolean;
  /** Files of the roots whose types some rooms may import, and those rooms: a face knows the contract. */
  readonly contracts?: Readonly<Record<string, readonly string[]>>;
}

export const ROOMS: Readonly<Record<string, RoomRule>> = {
  ground: {
    roots: ['index.ts'],
    constructsInRoots: false,
    rooms: {
      platform: [],
      cgroup: [],
      redaction: [],
      processes: [],
      files: ['processes'],
      git: ['processes', 'files', 'redaction'],
      staging: ['files', 'git'],
      patch: ['files', 'git', 'staging'],
      risk: ['files', 'git'],
      session: ['files'],
      sandbox: ['files', 'processes'],
    },
  },
  worker: {
    roots: ['main.ts', 'carry-out.ts', 'payload.ts', 'index.ts'],
    constructsInRoots: false,
    rooms: {
      inside: [],
      runtimes: [],
      native: [],
      network: [],
      acp: ['native', 'runtimes'],
      attempt: ['runtimes', 'network'],
      view: ['runtimes', 'network'],
      overlay: ['attempt', 'view'],
      commands: ['attempt', 'view'],
      coordination: ['attempt', 'runtimes', 'view'],
      steps: ['attempt', 'network', 'runtimes', 'overlay', 'commands'],
      resident: ['attempt', 'network', 'view'],
      pipeline: ['attempt', 'runtimes', 'view', 'overlay', 'commands', 'coordination', 'steps'],
    },
  },
  engine: {
    roots: ['engine.ts', 'caisson.ts', 'caisson-contract.ts', 'index.ts', 'composition/', 'operations/'],
    constructsInRoots: true,
    contracts: { 'caisson-contract.ts': ['api', 'handoff'] },
    rooms: {
      // Types only, but for platform: it works with the contract.
      api: ['admission', 'bus', 'config', 'evidence', 'session'],
      platform: [],
      config: [],
      trust: ['config'],
      ledger: [],
      bus: [],
      store: [],
      registry: ['store', 'config', 'discovery'],
      secrets: [],
      workspace: [],
      compute: [],
      discovery: [],
      hosts: [],
      questions: ['ledger'],
      callbacks: ['ledger', 'secrets'],
      session: [],
      supervision: ['compute'],
      budget: [],
      evidence: ['store', 'ledger'],
      admission: [
        ...['ledger', 'registry', 'discovery', 'store', 'workspace', 'session', 'compute'],
        'budget',
      ],
      attempt: [
        ...['admission', 'ledger', 'store', 'workspace', 'compute', 'supervision', 'budget'],
        'discovery',
      ],
      recovery: ['admission', 'attempt', 'ledger', 'workspace', 'compute', 'hosts'],
      dispatch: ['admission', 'attempt', 'recovery', 'ledger', 'questions'],
      residents: ['ledger', 'admission', 'compute', 'questions', 'config', 'bus'],
      // Its own routes answer errors as all others do.
      daemon: ['ledger', 'api'],
      face: ['ledger', 'api'],
      telemetry: ['ledger'],
      // Stands on the contract, as a face does.
      handoff: ['admission'],
    },
  },
};

/** Half of all functions are at most this long. Files and single functions have limits in .oxlintrc.json. */
export const MAX_MEDIAN_FUNCTION_LINES = 8;

/** Places (a file, or a folder with a slash at its end) with a permission that no other place has, and why. */
export const PRIVILEGES = {
  'child-process': {
    'packages/ground/src/': 'every process of host and worker is started here',
    'packages/engine/src/ledger/sqlite/commit-thread.ts': 'the program of the thread of the ledger',
    'packages/engine/src/ledger/sqlite/thread-commits.ts': 'starts that thread',
    'packages/engine/src/operations/examine-thread.ts': 'the program of the thread of the doctor',
    'packages/engine/src/composition/examine-apart.ts': 'starts that thread',
    'packages/worker/src/resident/guest/': "runs inside the sandbox; the user's code has threads of its own",
    'packages/worker/src/inside/relay.ts': 'runs inside the sandbox and starts the program it was given',
    'packages/worker/src/native/': 'runs inside the sandbox; its tools are commands',
    'packages/worker/src/acp/': 'runs inside the sandbox and starts the agent it speaks to',
  },
  'process-env': {
    'packages/engine/src/config/': "the host's only reader",
    'packages/worker/src/attempt/environment.ts': "the worker's only reader",
    'packages/worker/src/inside/': 'separate programs, inside the sandbox',
    'packages/worker/src/native/': 'a separate program, inside the sandbox',
    'packages/worker/src/acp/': 'a separate program, inside the sandbox',
  },
  printing: {
    'packages/cli/src/main.ts': 'gives the streams to the output, which escapes all that commands print',
    'packages/worker/src/attempt/line-writer.ts': "the worker's protocol goes over stdout",
    'packages/worker/src/resident/host-link.ts': "the protocol of a resident's worker goes over stdout",
    'packages/worker/src/resident/guest/': 'a separate program, inside the sandbox',
    'packages/worker/src/inside/': 'separate programs, inside the sandbox',
    'packages/worker/src/native/': 'a separate program, inside the sandbox',
    'packages/worker/src/acp/': 'a separate program, inside the sandbox',
    'packages/testkit/src/serve.ts': 'a program for tests in other languages',
  },
  'computed-import': {
    'packages/worker/src/resident/guest/run-thread.ts': "loads the user's file, inside the sandbox",
    'packages/engine/src/ledger/sqlite/find-addon.ts': 'the compiled part of SQLite is beside the bundle',
    'packages/worker/src/steps/load-driver.ts':
      'an adapter is loaded from the bytes whose digest was checked',
  },
  'raw-topic': {
    'packages/protocol/src/bus-topics.ts': 'topics are named here and nowhere else',
  },
  git: {
    'packages/ground/src/': 'git is hardened here',
    'packages/engine/src/workspace/': "the host's only user of git",
    'packages/worker/src/': 'captures the patch of its own workspace, through ground',
  },
} as const satisfies Record<string, Record<string, string>>;

export type Privilege = keyof typeof PRIVILEGES;
