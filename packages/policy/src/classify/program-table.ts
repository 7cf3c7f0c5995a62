/** Which handler judges which program. */
import { hit } from './finding.ts';
import type { Handler } from './inspector.ts';
import { CLOUD_PROGRAMS, judgeCloud } from './programs/cloud.ts';
import { CONTAINER_PROGRAMS, judgeContainer } from './programs/containers.ts';
import { DATABASE_PROGRAMS, judgeDatabase } from './programs/databases.ts';
import {
  judgeRimraf,
  judgeFallocate,
  judgeRm,
  judgeRmdir,
  judgeShred,
  judgeTruncate,
} from './programs/deletions.ts';
import {
  judgeCmake,
  judgeConverter,
  judgeCpio,
  judgeEditor,
  judgePatch,
  judgeRename,
  judgeSshKeygen,
  judgeXxd,
} from './programs/file-tools.ts';
import { judgeFd, judgeFind } from './programs/find.ts';
import { judgeGit } from './programs/git.ts';
import { findInterpreter } from './programs/interpreters.ts';
import {
  AGENT_PROGRAMS,
  judgeAgent,
  judgeCaisson,
  judgeNetwork,
  judgeOpenssl,
  judgeScp,
  NETWORK_PROGRAMS,
} from './programs/network.ts';
import {
  judgeAlias,
  judgeCd,
  judgeEval,
  judgeHistory,
  judgePrintf,
  judgeRead,
  judgeSet,
  judgeShell,
  judgeSource,
  judgeTrap,
  SHELLS,
} from './programs/shells.ts';
import { judgeDd } from './programs/dd.ts';
import { judgeMemoryDump } from './programs/memory-dumps.ts';
import { judgeKill } from './programs/kill.ts';
import { findSystemProgram, systemProgramNames } from './programs/system.ts';
import { judgeUnknownProgram } from './programs/unknown-program.ts';
import { findWrapper, judgeSu, unwrapVerb } from './programs/wrappers.ts';
import {
  judgeCopy,
  judgeMove,
  judgeRsync,
  judgeSed,
  judgeSplit,
  judgeTar,
  judgeTee,
  judgeTouch,
} from './programs/writes.ts';
import { judgeTmux } from './programs/tmux.ts';
import { judgeParallel, judgeXargs } from './programs/xargs.ts';
import { judgeChmod } from './programs/permissions.ts';
import { judgeAnsible, judgeMake, judgeUnzip, judgeZip } from './programs/builders.ts';

/** Built on first use: a program that judges no command pays nothing for it. */
let table: ReadonlyMap<string, Handler> | undefined;

function handlers(): ReadonlyMap<string, Handler> {
  table ??= buildTable();
  return table;
}

type Register = (names: readonly string[], handler: Handler) => void;

function buildTable(): ReadonlyMap<string, Handler> {
  const built = new Map<string, Handler>();
  const register: Register = (names, handler) => {
    for (const name of names) built.set(name, handler);
  };
  registerFileTools(register);
  registerBuildersAndShells(register);
  registerServices(register);
  return built;
}

function registerFileTools(register: Register): void {
  register(['rm', 'grm', 'unlink', 'srm', 'safe-rm', 'remove'], judgeRm);
  register(['rmdir'], judgeRmdir);
  register(['rimraf', 'del-cli', 'del', 'trash-cli', 'rd', 'ri', 'erase', 'deltree'], judgeRimraf);
  register(['shred', 'wipe', 'scrub', 'nwipe', 'sfill', 'bleachbit'], judgeShred);
  register(['truncate'], judgeTruncate);
  register(['find', 'gfind', 'bfs'], judgeFind);
  register(['fd', 'fdfind'], judgeFd);
  register(['xargs', 'gxargs'], judgeXargs);
  register(['parallel', 'sem', 'rush'], judgeParallel);
  register(['tee', 'sponge'], judgeTee);
  register(['touch', 'mkdir', 'mkfifo'], judgeTouch);
  register(['cp', 'install', 'ln', 'gcp', 'ginstall', 'link'], judgeCopy);
  register(['mv', 'gmv', 'rename-file'], judgeMove);
  register(['sed', 'gsed'], judgeSed);
  register(['split', 'csplit'], judgeSplit);
  register(['dd', 'dcfldd'], judgeDd);
  register(['chmod', 'chown', 'chgrp', 'setfacl'], judgeChmod);
  register(['rsync'], judgeRsync);
  register(['tar', 'gtar', 'bsdtar'], judgeTar);
  register(['npkill'], () => hit('file_delete', 'delete-regenerable'));
  register(['gcore', 'procdump'], judgeMemoryDump);
  register(['ztcp'], () => hit('bash_destructive', 'reverse-shell'));
  register(['stress', 'stress-ng'], () => hit('bash_destructive', 'exhausts-machine'));
  register(['gvfs-trash', 'kioclient-trash'], judgeRimraf);
  register(['zip', '7z', '7za', 'rar', 'gzip', 'bzip2', 'xz', 'zstd', '7zz'], judgeZip);
  register(['nano', 'pico', 'micro', 'joe', 'mcedit', 'kak', 'hx', 'gedit'], judgeEditor);
  register(['patch'], judgePatch);
  register(['cpio', 'pax'], judgeCpio);
  register(['rename', 'prename', 'file-rename', 'perl-rename', 'mmv', 'zmv'], judgeRename);
  register(['cmake'], judgeCmake);
  register(['ddrescue', 'ffmpeg', 'convert', 'magick', 'sox', 'gs', 'qemu-img'], judgeConverter);
  register(['xxd'], judgeXxd);
  register(['ssh-keygen'], judgeSshKeygen);
}

function registerBuildersAndShells(register: Register): void {
  register(['make', 'gmake', 'just', 'task', 'rake'], judgeMake);
  register(
    ['manage.py'],
    (call) => findInterpreter('python')?.({ ...call, args: ['manage.py', ...call.args] }) ?? null,
  );
  register(['git'], judgeGit);
  register(['bfg', 'git-filter-repo'], () => hit('git_destructive', 'git-rewrite-history'));
  register(SHELLS, judgeShell);
  register(['eval'], judgeEval);
  register(['source', '.'], judgeSource);
  register(['trap'], judgeTrap);
  register(['alias'], judgeAlias);
  register(['cd', 'pushd', 'chdir'], judgeCd);
  register(['read', 'mapfile', 'readarray'], judgeRead);
  register(['set'], judgeSet);
  register(['enable'], (call) =>
    call.args.includes('-f') ? hit('bash_destructive', 'injected-library') : hit('file_read', 'shell'),
  );
  register(['printf'], judgePrintf);
  register(['su'], judgeSu);
  register(['unzip', 'bsdunzip'], judgeUnzip);
  register(['fallocate'], judgeFallocate);
  register(['history'], judgeHistory);
}

function registerServices(register: Register): void {
  register(['kill', 'pkill', 'killall', 'skill', 'xkill', 'taskkill'], judgeKill);
  register(NETWORK_PROGRAMS, judgeNetwork);
  register(['scp', 'sftp'], judgeScp);
  register(['openssl'], judgeOpenssl);
  register(AGENT_PROGRAMS, judgeAgent);
  register(['caisson'], judgeCaisson);
  register(['tmux'], judgeTmux);
  register(DATABASE_PROGRAMS, judgeDatabase);
  register(CLOUD_PROGRAMS, judgeCloud);
  register(CONTAINER_PROGRAMS, judgeContainer);
  register(['ansible', 'ansible-playbook'], judgeAnsible);
  register(['exit', 'return', 'break', 'continue', 'shift'], () => hit('file_read', 'shell'));
}

/** The handler of a program; null for a program that has none. */
export function findHandler(name: string): Handler | null {
  // Keeps no state: one line must not change how another is judged.
  return (
    handlers().get(name) ??
    findWrapper(name) ??
    findSystemProgram(name) ??
    findInterpreter(name) ??
    findByForm(name)
  );
}

/** Every name that a pattern such as `/bin/r?` can mean, the gravest first. */
export function programNames(): string[] {
  return [...handlers().keys(), ...systemProgramNames()];
}

function findByForm(name: string): Handler | null {
  if (name.startsWith('git-')) return (call) => judgeGit({ ...call, args: [name.slice(4), ...call.args] });
  if (VERB_WRAPPERS.has(name)) {
    return (call) => (unwrapVerb(call) === null ? judgeUnknownProgram(call, findHandler) : null);
  }
  return null;
}

const VERB_WRAPPERS = new Set(
  'perf dotenvx direnv pipx bun pipenv pdm rye hatch conda bundle mise asdf nix op doppler aws-vault'.split(
    ' ',
  ),
);
