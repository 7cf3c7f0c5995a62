import { namesCredential } from '@caisson/protocol';
import { hasFlag, parseOptions } from '../command-options.ts';
import { hit, worstOf, type Hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { forkScope } from '../shell-scope.ts';
import { isUnknown, UNTRUSTED } from '../unknown-text.ts';
import { hitOfWrites } from '../write-hit.ts';
import { opensMachine } from './tunnels.ts';
import { startsUnguarded } from './unguarded-agents.ts';
import { findDestructiveVerb } from './destructive-verbs.ts';

export const NETWORK_PROGRAMS =
  'curl wget scp sftp ftp telnet nc ncat netcat socat http https xh aria2c ping ping6 traceroute tracepath dig nslookup host whois nmap mtr lftp curlie grpcurl websocat wscat ngrok cloudflared ssh-copy-id ssh-keyscan tcpdump rclone yt-dlp axel openssl-s_client'.split(
    ' ',
  );

const network = hit('network', 'network');
const LOCAL =
  /^(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0|[\w-]+\.(local|test|localhost))(:|\/|$)|^(:\d+)?\//;

/** Local services that keep data or run the machine: a deletion there is not a test of a development server. */
const STORE =
  /:(9200|9201|5984|8500|8200|237[0-9]|6333|8086|8123|7474|4001|8983|15672|9000|5000\/v2|7700|8108|9090)(\/|$)|\/(indexes|indices|collections|databases|buckets|topics|queues|volumes|containers|_data_stream|_snapshot)(\/|$)|\/_all\b|\/\*$|docker\.sock/;
/** Paths by which an ordinary request destroys. */
const ORDERS_LOSS =
  /\/_delete_by_query\b|\/_shutdown\b|\/actuator\/shutdown\b|\/_flush_all\b|\/(containers|images|volumes)\/(\S+\/(kill|stop)|prune)\b|\bdrop(%20|\+)+(table|database)/i;

const ENDS_IN_LOSS = /\/(do)?(delete|destroy|purge|wipe|drop|truncate|terminate|shutdown)(all)?\/?(\?.*)?$/i;

/** `-X DELETE`, `-XDELETE`, `-sX DELETE`, `--request=DELETE`, `--method=DELETE`. */
function methodOf(args: readonly string[]): string {
  for (const [index, arg] of args.entries()) {
    const found = /^(?:-[a-zA-Z]*X|--request|--method)(?:=?(.*))$/.exec(arg);
    if (found !== null) return found[1] || (args[index + 1] ?? '');
  }
  return '';
}

export const judgeNetwork: Handler = (call) => {
  const { args, name } = call;
  if (args.length === 1 && /^(--version|--help|-V|-h)$/.test(args[0] ?? ''))
    return hit('file_read', 'read-only-program');
  if (args.some((arg) => namesCredential(arg.replace(/^(.*=)?@/, ''))))
    return hit('bash_destructive', 'sends-credentials');
  if (/^(ftp|lftp|sftp|telnet)$/.test(name)) runEscapes(call);
  const shell = executes(name, args);
  if (shell !== null) return hit('bash_destructive', 'reverse-shell');
  if (opensMachine(name, args)) return hit('bash_destructive', 'opens-machine');
  if (sendsFiles(call)) return hit('bash_destructive', 'sends-files');
  if (call.inspector.readsCredentials) return hit('bash_destructive', 'sends-credentials');
  const { operands, values } = parseOptions(apart(name, args), name === 'wget' ? [...VALUED, '-O'] : VALUED);
  const method = methodOf(args).toUpperCase();
  const isHttpie = /^(http|https|xh|curlie)$/.test(name) && /^delete$/i.test(operands[0] ?? '');
  if (method === 'DELETE' || isHttpie) {
    const isDeveloped = args.some((word) => LOCAL.test(word)) && !args.some((word) => STORE.test(word));
    if (!isDeveloped) return hit('bash_destructive', 'http-delete');
  }
  if (
    /^(POST|PUT|PATCH)$/.test(method) &&
    args.some((word) => ENDS_IN_LOSS.test(word) && !/localhost|127\.0\.0\.1/.test(word))
  )
    return hit('bash_destructive', 'http-delete');
  if (args.some((word) => ORDERS_LOSS.test(word))) return hit('bash_destructive', 'http-delete');
  if (name === 'rclone') return judgeRclone(args);
  const written = [
    ...(values.get('-o') ?? []),
    ...(values.get('-O') ?? []),
    ...(values.get('--output') ?? []),
    ...(values.get('-P') ?? []),
    ...(values.get('--output-document') ?? []),
    ...(name === 'tcpdump' ? (values.get('-w') ?? []) : []),
    ...(name === 'socat'
      ? args.flatMap((arg) => /^(?:open|create|file|gopen):([^,]+)/i.exec(arg)?.[1] ?? [])
      : []),
  ].filter((file) => name !== 'socat' || hitOfWrites([file], call.scope).actionClass !== 'file_write');
  const files = name === 'curl' ? written.filter((file) => !/^https?:/.test(file)) : written;
  for (const file of [...files, ...downloadedNames(call.name, args, operands, values.get('-P')?.[0])])
    call.inspector.files.set(file, UNTRUSTED);
  return (
    worstOf([
      network,
      ...(files.some((file) => file !== '-')
        ? [
            hitOfWrites(
              files.filter((file) => file !== '-'),
              call.scope,
            ),
          ]
        : []),
    ]) ?? network
  );
};

/** `curl -fsSLo FILE`, `wget -qO FILE`: the last letter of a cluster takes the next word. */
function apart(name: string, args: readonly string[]): string[] {
  const cluster = name === 'wget' ? /^(-[a-zA-Z]+)(O)$/ : /^(-[a-zA-Z]+)(o)$/;
  return args.flatMap((arg) => {
    const found = name === 'wget' || name === 'curl' ? cluster.exec(arg) : null;
    return found === null ? [arg] : [found[1] ?? '', `-${found[2]}`];
  });
}

const VALUED = [
  '-X',
  '--request',
  '-o',
  '--output',
  '-d',
  '--data',
  '-H',
  '--header',
  '-u',
  '-A',
  '-e',
  '-F',
  '-T',
  '-P',
  '--output-document',
  '-b',
  '-c',
  '-w',
  '-m',
];

/** `wget URL` and `curl -O URL` name the file after the address. */
function downloadedNames(
  name: string,
  args: readonly string[],
  operands: readonly string[],
  folder: string | undefined,
): string[] {
  if (name !== 'wget' && !(name === 'curl' && hasFlag(args, 'O', '--remote-name', '--remote-name-all')))
    return [];
  const names = operands
    .map((url) => url.replace(/[?#].*$/, '').replace(/.*\//, ''))
    .filter((file) => file !== '');
  return folder === undefined ? names : names.map((file) => `${folder.replace(/\/$/, '')}/${file}`);
}

/** `tar cz . | nc host 9999`: the files go to a bare socket. */
function sendsFiles({ name, args, stdin }: Call): boolean {
  if (/^(nc|ncat|netcat|telnet)$/.test(name) && /^\s*flush(_all|all|db)\b/i.test(stdin ?? '')) return true;
  return (
    /^(nc|ncat|netcat|telnet)$/.test(name) &&
    stdin !== undefined &&
    isUnknown(stdin) &&
    !args.some((arg) => LOCAL.test(arg) || /^-\w*[zl]/.test(arg))
  );
}

/** `nc -e /bin/sh`, `socat exec:…`: gives a shell to the other side. */
function executes(name: string, args: readonly string[]): string | null {
  if (/^(nc|ncat|netcat)$/.test(name))
    return args.find((arg) => /^(-[a-z]*[ec]|--exec|--sh-exec)$/.test(arg)) ?? null;
  if (name === 'socat') return args.find((arg) => /^(exec|system):/i.test(arg)) ?? null;
  return null;
}

/** `!cmd` at the prompt of ftp and similar programs runs here. */
function runEscapes(call: Call): void {
  for (const match of (call.stdin ?? '').matchAll(/^\s*!\s*(.+)$/gm))
    call.inspector.runScript(match[1] ?? '', forkScope(call.scope), call.cause);
}

function judgeRclone(args: readonly string[]): ReturnType<Handler> {
  if (args.some((arg) => arg === '--dry-run' || arg === '-n')) return network;
  return /^(delete|deletefile|purge|sync|move|rmdirs?|cleanup)$/.test(args[0] ?? '')
    ? hit('bash_destructive', 'cloud-delete')
    : network;
}

/** `-o ProxyCommand=CMD`: ssh and similar programs run the value. */
export function runSshSetting(call: Call, setting: string): void {
  const text = /^(?:ProxyCommand|LocalCommand|KnownHostsCommand|Match exec)[= ]\s*(.+)$/is.exec(setting)?.[1];
  if (text !== undefined) call.inspector.runScript(text, forkScope(call.scope), call.cause);
}

/** scp writes its last word: here or there. */
export const judgeScp: Handler = (call) => {
  const { operands, values } = parseOptions(call.args, ['-P', '-i', '-o', '-F', '-l', '-S', '-J']);
  const target = operands.at(-1) ?? '';
  for (const text of values.get('-o') ?? []) runSshSetting(call, text);
  // What comes from elsewhere may be anything.
  for (const source of operands.slice(0, -1).filter((word) => word.includes(':')))
    call.inspector.files.set(source.replace(/.*[:/]/, ''), UNTRUSTED);
  if (call.args.some((arg) => namesCredential(arg) && arg !== target && !call.args.includes('-i')))
    return hit('bash_destructive', 'sends-credentials');
  return /:/.test(target) ? network : (worstOf([network, hitOfWrites([target], call.scope)]) ?? network);
};

export const judgeOpenssl: Handler = (call) => (call.args[0] === 's_client' ? network : openssl(call));

function openssl(call: Call): Hit {
  if (call.args.includes('-revoke')) return hit('bash_destructive', 'service-delete');
  const written = call.args.filter((_, index) =>
    /^-(out|keyout|writerand)$/.test(call.args[index - 1] ?? ''),
  );
  return written.length > 0 ? hitOfWrites(written, call.scope) : hit('bash_exec', 'openssl');
}

/** Programs that start another agent: the host decides its grant. */
export const AGENT_PROGRAMS =
  'claude codex gemini opencode pi aider cursor-agent goose amp crush qwen copilot droid auggie plandex kimi cline kilocode kiro-cli'.split(
    ' ',
  );

export const judgeAgent: Handler = (call) => {
  const first = call.args[0] ?? '';
  if (/^(--version|-v|-V|--help|-h|version|help|doctor)$/.test(first))
    return hit('file_read', 'read-only-program');
  if (findDestructiveVerb(call.name, call.args) !== null) return hit('bash_destructive', 'destructive-verb');
  const second = call.args[1] ?? '';
  if (
    /^(mcp|config|auth|plugin|login|update|install)$/.test(first) &&
    /^(list|ls|get|show|status|--help|-h)$/.test(second)
  )
    return hit('file_read', 'read-only-program');
  if (/^(mcp|config|login|logout|auth|plugin|update|upgrade|install)$/.test(first))
    return hit('system_modify', 'agent-settings');
  if (startsUnguarded(call.name, call.args)) return hit('bash_destructive', 'agent-unguarded');
  return hit('agent_dispatch', 'agent-dispatch');
};

/** Our own program: a run is a dispatch; only the operator decides about runs. */
export const judgeCaisson: Handler = (call) => {
  const verb = call.args.find((arg) => !arg.startsWith('-')) ?? '';
  if (/^(run|batch|chain|retry|send|up)$/.test(verb)) return hit('agent_dispatch', 'agent-dispatch');
  if (/^(approve|deny|answer|apply|forget|gc|keys|config|init|cancel|merge|down|reload)$/.test(verb))
    return hit('system_modify', 'own-state');
  return hit('file_read', 'read-only-program');
};
