/** Ending processes: by name or number is everyday work, all of them is the end of the machine. */
import { hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { isUnknown, withoutUnknown } from '../unknown-text.ts';

/** Processes that everything else, or everyone's data, hangs on. */
const CRITICAL =
  /^(systemd|init|sshd|dockerd|containerd|kubelet|launchd|postgres(ql)?|postmaster|mysqld?|mariadbd?|mongod?|redis(-server)?|etcd|Xorg|gnome-shell|caisson)$/;
const EVERYONE = /^(-1|1|-9)$/;
const everything = hit('system_modify', 'kill-everything');

/** `kill -9 -1` ends everything; `pkill -u root` and `pkill .` nearly so. */
export const judgeKill: Handler = (call) => {
  const critical = call.args.some((arg) => isUnknown(arg) && CRITICAL.test(withoutUnknown(arg)));
  if (critical || walksAll(call)) return everything;
  const targets = call.args.slice(/^-(?!1$)/.test(call.args[0] ?? '') ? 1 : 0);
  if (call.name === 'kill') {
    const values = call.args[0] === '-s' ? call.args.slice(2) : targets;
    return values.some((arg) => arg === '-1' || arg === '1' || /[*?[]/.test(arg)) ||
      (call.args.length > 1 && EVERYONE.test(call.args.at(-1) ?? ''))
      ? everything
      : hit('bash_exec', 'kill');
  }
  if (call.name === 'xkill') return everything;
  const isAll = call.args.some(
    (arg, index) =>
      /^(-u|-U|--euid|--uid|-v|-t|--terminal|-s|--session)$/.test(arg) ||
      /^(\.[*+]?|\*|\^?\.?\*?\$?)$/.test(arg) ||
      (/^(-P|--parent)$/.test(call.args[index - 1] ?? '') && arg === '1') ||
      CRITICAL.test(arg),
  );
  return isAll ? everything : hit('bash_exec', 'kill');
};

const LISTS_ALL =
  /\bps\s+(?:-?[a-z]*[aAex]\w*\b|--everyone|-[a-zA-Z]*[eA])|\bls\s+(?:-\S+\s+)*\/proc\b|\/proc\/(?:\[0-9\]|\*|\[\[:digit)|\bfind\s+\/proc\b|\bpgrep\s+(?:-\S+\s+)*['"]?(?:\.\*?)?['"]?\s*(?:[|)]|$)/;
/** What leaves only some of a listing. */
const CHOOSES =
  /\brg\s+(?!-v)|\bpgrep\s+(?:-\S+\s+)*[\w'"/]{2}|\/[\w .\\-]{2,}\/|\$\d+\s*(?:[=!]?[=~]|[<>])|\bps\b[^|)]*\s(?:-C|--ppid|-p|--pid|-t|-u|-U|--user|-g|--sid)\b|\bhead\b|\btail\b|\bfzf\b|\bselect\b|\bcomm\s*[=!]=/;

/** The numbers come from a list of all processes, and nothing on the line chooses among them. */
function walksAll({ args, inspector }: Call): boolean {
  return (
    args.some((arg) => isUnknown(arg) || arg.includes('/proc')) &&
    LISTS_ALL.test(inspector.line) &&
    !CHOOSES.test(inspector.line) &&
    !greps(inspector.line)
  );
}

/** Looks for a name; one that only sorts the numbers out looks for everything. */
function greps(line: string): boolean {
  for (const [, options = '', pattern = ''] of line.matchAll(/(?<!p)grep\s+((?:-\S+\s+)*)(\S+)/g)) {
    const isNumber = /^['"]?\^?(?:\[0-9\]|\\d|\[\[:digit)/.test(pattern);
    if (!isNumber && !/(^|\s)-\w*v/.test(options)) return true;
  }
  return false;
}
