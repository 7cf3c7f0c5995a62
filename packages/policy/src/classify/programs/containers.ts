/** docker, podman and compose: what they destroy on this machine, and what they run inside. */
import { parseOptions } from '../command-options.ts';
import { hit, type Hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { kindOfPath } from '../path-kind.ts';
import { forkScope } from '../shell-scope.ts';
import { isMinerImage } from './foreign-work.ts';
import { isUnknown } from '../unknown-text.ts';

export const CONTAINER_PROGRAMS = [
  'docker',
  'podman',
  'nerdctl',
  'docker-compose',
  'podman-compose',
  'buildah',
  'ctr',
  'crictl',
];

const destroys = hit('bash_destructive', 'container-delete');
const runs = hit('bash_exec', 'container');
const RUN_VALUED =
  '-v --volume -e --env -p --publish --name -w --workdir -u --user --network --net --mount --entrypoint -l --label --env-file -h --hostname --memory -m --cpus --platform --add-host --cap-add --device --restart --gpus --shm-size --tmpfs --ulimit --pid --ipc -f --file --project-name --profile --index'.split(
    ' ',
  );

export const judgeContainer: Handler = (call) => {
  if (call.args.includes('run') && call.args.some(isMinerImage)) return hit('bash_destructive', 'miner');
  const isCompose =
    call.name.endsWith('-compose') || call.args.find((arg) => !arg.startsWith('-')) === 'compose';
  const { operands } = parseOptions(call.args, [
    '-H',
    '--host',
    '--context',
    '-c',
    '-f',
    '--file',
    '-p',
    '--project-name',
    '--profile',
    '--env-file',
  ]);
  const [verb = '', second = ''] = isCompose && operands[0] === 'compose' ? operands.slice(1) : operands;
  const rest = call.args.slice(call.args.indexOf(verb) + 1);
  if (isCompose) return judgeCompose(call, verb, rest);
  if (verb === 'run' || verb === 'exec' || (verb === 'container' && /^(run|exec)$/.test(second))) {
    return runInside(call, verb === 'container' ? second : verb, verb === 'container' ? rest.slice(1) : rest);
  }
  return judgeVerb(call.name, verb, second, rest);
};

function judgeVerb(name: string, verb: string, second: string, rest: readonly string[]): Hit {
  // Without --all only the cache of builds and what has no name any more.
  const isCache = /^(builder|buildx|image)$/.test(verb) && second === 'prune' && name !== 'buildah';
  if (isCache && !rest.some((arg) => /^--all|^-\w*a|^--filter|^--volumes/.test(arg))) return runs;
  if (verb === 'system') return second === 'prune' || second === 'reset' ? destroys : runs;
  if (verb === 'volume') return /^(rm|remove|prune)$/.test(second) ? destroys : runs;
  if (/^(swarm)$/.test(verb)) return second === 'leave' ? destroys : runs;
  if (/^(stack|service|secret|config|node|network|context|manifest|machine|pod|plugin|buildx)$/.test(verb)) {
    const isOne = verb === 'network' && /^(rm|remove)$/.test(second) && !rest.some((arg) => isUnknown(arg));
    return /^(rm|remove|prune|reset)$/.test(second) && !isOne ? destroys : runs;
  }
  if (/^(image|container|builder)$/.test(verb) && second === 'prune') return destroys;
  const removes =
    /^(rm|rmi|kill)$/.test(verb) || (/^(image|container)$/.test(verb) && /^(rm|remove)$/.test(second));
  // One container by name is everyday work; the output of a listing is everything.
  if (removes && rest.some((arg) => isUnknown(arg) || arg === '--all' || /^-\w*[av]/.test(arg)))
    return destroys;
  if (/^(ctr|crictl|buildah|nerdctl)$/.test(name)) {
    const all =
      /^(rmi|rm|rmp|stopp)$/.test(verb) && rest.some((arg) => /^(-a|--all|--prune|-\w*f)/.test(arg));
    if (all || /^(rm|remove|delete|del|prune)$/.test(second)) return destroys;
  }
  if (/^(ps|images|logs|inspect|version|info|top|stats|port|diff|history|search)$/.test(verb))
    return hit('file_read', 'container-read');
  return runs;
}

function judgeCompose(call: Call, verb: string, rest: readonly string[]): Hit | null {
  if (verb === 'down' && rest.some((arg) => /^(-v|--volumes|--rmi.*)$/.test(arg))) return destroys;
  if (verb === 'rm' && rest.some((arg) => /^-\w*v|--volumes/.test(arg))) return destroys;
  if (verb === 'exec' || verb === 'run') return runInside(call, 'exec', rest);
  return runs;
}

/**
 * The inner command is judged as if it ran here, except that a container's own system is not the
 * machine's: installing a package in it is ordinary. `run` in a fresh container without mounts
 * can destroy nothing of ours.
 */
function runInside(call: Call, verb: string, rest: readonly string[]): Hit {
  const at = commandIndex(rest);
  const options = rest.slice(0, at);
  const command = rest.slice(at + 1);
  const mountsRoot = options.some(
    (arg) => /(^|=|source=|src=)\/:/.test(arg) || /source=\/(,|$)|src=\/(,|$)/.test(arg),
  );
  const isOpen =
    mountsRoot ||
    parseOptions(options, RUN_VALUED)
      .values.get('-v')
      ?.concat(parseOptions(options, RUN_VALUED).values.get('--volume') ?? [])
      .some((mount) => exposesMachine(mount, call)) === true ||
    options.some((arg) => arg.includes('docker.sock')) ||
    options.some((arg) =>
      /^(--privileged|--pid=host|--cap-add[= ](ALL|SYS_ADMIN|SYS_MODULE|SYS_PTRACE))/i.test(arg),
    );
  const entry = parseOptions(options, RUN_VALUED).values.get('--entrypoint')?.[0];
  const argv = entry === undefined ? command : [entry, ...command];
  const findings = call.inspector.collect(() =>
    call.inspector.runArgv(argv, insideScope(options, call), call.cause, call.stdin),
  );
  const mounts = options.some((arg) => /^(-v|--volume|--mount)/.test(arg));
  for (const found of findings) {
    const reaches = verb === 'exec' || mounts || isOpen || found.actionClass === 'git_push';
    if (!reaches) continue;
    if (found.actionClass !== 'system_modify' || isOpen) call.inspector.report(found, found.cause);
    else if (/^(delete-|control-file|raw-device)/.test(found.rule))
      call.inspector.report(hit('bash_destructive', found.rule), found.cause);
  }
  return isOpen ? hit('bash_destructive', 'container-host-access') : runs;
}

/** Where the working folder is mounted, its paths are the workspace's. */
function insideScope(options: readonly string[], call: Call): Call['scope'] {
  const { values } = parseOptions(options, RUN_VALUED);
  const mounts = [...(values.get('-v') ?? []), ...(values.get('--volume') ?? [])].map((mount) =>
    mount.split(':'),
  );
  const target = mounts.find(([source = '']) => kindOfPath(source, call.scope) === 'workspace')?.[1];
  const scope = forkScope(call.scope);
  return target?.startsWith('/') === true && target !== '/'
    ? { ...scope, workspace: target.replace(/\/$/, '') }
    : scope;
}

/** A mount by which a container could write the machine, a whole home or its keys. */
function exposesMachine(mount: string, call: Call): boolean {
  const [source = '', , mode = ''] = mount.split(':');
  if (
    /\bro\b/.test(mode) ||
    /^\/(etc\/(localtime|timezone)|var\/(log|lib|www|cache)|dev\/shm|run|opt|srv)/.test(source)
  )
    return false;
  return ['root', 'home', 'system', 'control', 'device'].includes(kindOfPath(source, call.scope));
}

/** Index of the image or container name: the first word that is neither option nor value. */
function commandIndex(rest: readonly string[]): number {
  for (let index = 0; index < rest.length; index += 1) {
    const arg = rest[index] ?? '';
    if (!arg.startsWith('-')) return index;
    if (RUN_VALUED.includes(arg)) index += 1;
  }
  return rest.length;
}
