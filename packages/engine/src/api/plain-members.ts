/** Members of a request that a program without a person's full rights may set: none reads a file or a key of the host, or leaves the sandbox. */
export const PLAIN_MEMBERS: ReadonlySet<string> = new Set([
  ...['task', 'argv', 'runtime', 'agent', 'model', 'systemPrompt', 'mode', 'base', 'folder', 'timeoutMs'],
  ...['stallTimeoutMs', 'budget', 'limits', 'tools', 'verify', 'verifyLens', 'capabilities', 'env', 'scope'],
  ...['lackingEnv'],
  ...['acceptance', 'branch', 'priority', 'retries', 'session', 'idempotencyKey', 'overflow', 'continues'],
  // Of runs of this project alone; that `resume` is of the run that it continues is checked beside this.
  ...['keepWork', 'resume'],
  'within', // It only takes away, and a token without `admin` has it in any case.
]);
