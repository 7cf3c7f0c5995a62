/**
 * A command that failed because of what the sandbox does not show, or an agent's that had no network: one line with the
 * option that would help. What it printed is a stranger's text: only words of a strict form are taken from it.
 */
import type { DispatchResult, EventEnvelope } from '@caisson/protocol';

const MAX_SCANNED = 16 * 1024;
const HOST = String.raw`['"]?([a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z]{2,24})\b`;
const WORD = String.raw`([A-Za-z0-9][\w.+-]{0,63})`;
const FILE = String.raw`((?:\.?[\w@+-][\w.@+-]*\/)*\.?[\w@+-][\w.@+-]*)`;

const PROGRAM_PATH = String.raw`((?:[\w.@+-]*\/)+[\w.@+-]+)`;

const NAME_UNKNOWN = [
  String.raw`caisson: ${HOST}:\d+ is not among the hosts granted`,
  String.raw`(?:ENOTFOUND|EAI_AGAIN|resolve host:?|resolve host name|lookup|UnknownHostException:?|Unknown host|to resolve) ${HOST}`,
  String.raw`host='([a-z0-9.-]+)'.*(?:name resolution|Name or service not known)`,
  String.raw`for url \(https?:\/\/${HOST}.*(?:Name or service not known|name resolution)`,
  String.raw`(?:^|[\s(])${HOST}: (?:Name or service not known|(?:Temporary failure in )?name resolution)`,
];
const NO_NETWORK =
  /\bENOTFOUND|\bEAI_AGAIN|\bENETUNREACH|network is unreachable|could not resolve host|name resolution|name or service not known|UnknownHostException|\bUnknown host |CONNECT tunnel failed|tunnel connection failed|tunneling socket could not|is not among the hosts granted|\(from versions: none\)/i;
/** What pip says names no host; without a network it finds no version of anything. */
const OF_PIP = /\(from versions: none\)|pip\._vendor/;
const PIP_HOSTS = ['pypi.org:443', 'files.pythonhosted.org:443'];
const NO_PROGRAM = [
  String.raw`(?:^|[:\s])${WORD}: (?:command )?not found`,
  String.raw`spawn ${WORD} ENOENT`,
  String.raw`program ${WORD} does not exist inside the sandbox`,
  String.raw`env: [‘']${WORD}[’']: No such file`,
  String.raw`^make(?:\[\d+\])?: ${WORD}: No such file or directory`,
];
/** A shell says so of a file that exists, too, if what it links to or its interpreter does not. */
const NO_PROGRAM_AT = [
  String.raw`(?:^|[:\s])${PROGRAM_PATH}: (?:not found|bad interpreter)`,
  String.raw`(?:^|[:\s])${PROGRAM_PATH}: cannot execute: required file not found`,
  String.raw`line \d+: ${PROGRAM_PATH}: No such file or directory`,
  String.raw`spawn ${PROGRAM_PATH} ENOENT`,
];
const NO_MODULE = [
  String.raw`Cannot find (?:module|package) '(@?[A-Za-z0-9][\w./-]{0,120})'`,
  String.raw`No module named '?([A-Za-z_][\w.]{0,120})`,
  String.raw`Could not find ${WORD} in (?:any of the sources|locally installed gems)`,
];
const LOOPBACK = String.raw`(?:127\.0\.0\.1|\[?::1\]?|localhost)`;
const NO_SERVER = [
  String.raw`ECONNREFUSED ${LOOPBACK}:(\d{2,5})\b`,
  String.raw`${LOOPBACK}:(\d{2,5})\b.{0,40}refused`,
  String.raw`${LOOPBACK}.{0,30}port (\d{2,5})\b.{0,60}(?:refused|couldn't connect)`,
];
const NO_DOCKER =
  /connect to the docker daemon|docker\.sock|valid docker environment|working container runtime/i;
const NO_FILE = [
  String.raw`no such file or directory, \w+ '${FILE}'`,
  String.raw`^\w[\w-]*: (?:can't open |cannot open |cannot access )?'?${FILE}'?: No such file or directory`,
  String.raw`No such file or directory: '${FILE}'`,
];

/**
 * `null` where no option is known to help. An agent's words are no evidence: it may talk of a failure that it fixed.
 * `unreached` is: what one of its calls printed that failed without a network.
 */
export function findHint(
  result: DispatchResult,
  isOfCommand: boolean,
  unreached: string | null = null,
): string | null {
  const said = findSaid(result, isOfCommand);
  // A check has no network, whatever the run was granted.
  const offline = result.result?.verify?.passed === false ? unreached : (said ?? unreached);
  const network = offline === null ? null : findNetworkHint(result, offline);
  if (network !== null || said === null) return network;
  return findHostHint(result, said) ?? findMissingHint(said);
}

/** Services of the machine that a sandbox does not reach. */
function findHostHint({ result }: DispatchResult, said: string): string | null {
  const needsDocker = NO_DOCKER.test(said);
  const port = find(said, NO_SERVER);
  if (!needsDocker && port === null) return null;
  const { hosts = [], sandbox } = result?.policy.grant ?? {};
  if (sandbox === 'none') return null;
  if (needsDocker)
    return 'a sandbox reaches no Docker, because Docker controls the whole machine. Run these tests outside, or without a sandbox: --sandbox none';
  if (hosts.includes('*')) return null;
  const other = result?.verify?.passed === false ? '' : ', or use one of this machine: --network full';
  return `no server of this run listens on port ${port}, and a sandbox has its own loopback. Start the server in the run${other}`;
}

function findMissingHint(said: string): string | null {
  const program = find(said, NO_PROGRAM);
  if (program !== null)
    return `${program} is not visible in the sandbox. Installed by the project: install it in your folder, node_modules and .venv come along. A tool under HOME: sandbox.toolchains: [~/ITS_FOLDER] in ~/.config/caisson/config.yaml`;
  const path = find(said, NO_PROGRAM_AT);
  if (path !== null)
    return `${path}, or the program behind it, is not visible in the sandbox. Show the folder it is in: sandbox.toolchains: [${toolFolder(path)}] in ~/.config/caisson/config.yaml`;
  const module = find(said, NO_MODULE);
  if (module !== null)
    return `${module} is not installed where the run looks. Install it in your folder, node_modules and .venv come along; or name its folder: --bring FOLDER`;
  const file = find(said, NO_FILE);
  return file === null
    ? null
    : `${file} is not in the workspace. If git ignores it, name it: --bring ${file}`;
}

/** A relative path leads into the project; only its links or its interpreter can be outside. */
function toolFolder(path: string): string {
  return path.startsWith('/') ? path.replace(/(?:\/bin)?\/[^/]+$/, '') : 'FOLDER';
}

function findSaid({ failure, stdout, stderr, result }: DispatchResult, isOfCommand: boolean): string | null {
  const isFailedCommand =
    isOfCommand && (failure?.cause === 'exit-code' || failure?.reason === 'worker-failed');
  const texts = [
    ...(isFailedCommand ? [failure.detail, stderr, stdout] : []),
    ...(result?.verify?.passed === false ? [result.verify.report] : []),
  ];
  return texts.length === 0 ? null : texts.map((text) => text.slice(-MAX_SCANNED)).join('\n');
}

/** What a call of an agent printed that failed because it reached nothing. */
export function findUnreached(event: EventEnvelope): string | null {
  const detail = event.type === 'tool.ended' && !event.ok ? (event.detail ?? '') : '';
  return NO_NETWORK.test(detail) ? detail : null;
}

function findNetworkHint({ result }: DispatchResult, said: string): string | null {
  if (!NO_NETWORK.test(said)) return null;
  const { hosts = [], sandbox } = result?.policy.grant ?? {};
  const host = find(said, NAME_UNKNOWN);
  const wanted = host === null && OF_PIP.test(said) ? PIP_HOSTS : [`${host ?? 'HOST'}:443`];
  const missing = wanted.filter((one) => !hosts.includes(one));
  if (sandbox === 'none' || hosts.includes('*') || missing.length === 0) return null;
  const has = hosts.length === 0 ? 'has no network' : `reaches only ${hosts.join(', ')}`;
  return `this run ${has}. Allow what it needs: --network hosts=${[...hosts, ...missing].join(',')}`;
}

function find(text: string, forms: readonly string[]): string | null {
  for (const form of forms) {
    const found = new RegExp(form, 'im').exec(text)?.[1];
    if (found !== undefined) return found;
  }
  return null;
}
