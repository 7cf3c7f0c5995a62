/** Ending processes: by name or number is everyday work, all of them is the end of the machine. */
import { hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { isUnknown, withoutUnknown } from '../unknown-text.ts';

/** Processes that everything else, or everyone's data, depends on. */
const CRITICAL =
  /^(systemd|init|sshd|dockerd|containerd|kubelet|launchd|postgres(ql)?|postmaster|mysqld?|mariadbd?|mongod?|redis(-server)?|etcd|Xorg|gnome-shell|caisson)$/;
/** What guards this machine or limits a program. */
const GUARDS =
  /^(auditd|falco|osqueryd?|clamd|clamav|freshclam|wazuh(-\w+)?|ossec(-\w+)?|sysmon|falcon-sensor|sentinel(one|d|ctl)?|mdatp|fail2ban(-server)?|snort|suricata|apparmord?|bwrap|bubblewrap|firejail|seccomp|sandbox(-exec|d)?|rsyslogd?|syslogd?|syslog-ng|journald|systemd-journald|crowdstrike|carbonblack|cbagentd|aide|tripwire|rkhunter|usbguard(-daemon)?|opensnitchd?|littlesnitch|santad?|watchdogd?)$/i;
/** Programs that run all kinds of work: several at once end everything the user has open. */
const KINDS =
  /^(node|nodejs|python[\d.]*|java|ruby|php|perl|go|dotnet|chrome|google-chrome|chromium|firefox|safari|code|cursor|idea|bash|zsh|sh|fish|tmux|screen|docker|ssh|vim|nvim|emacs|slack|Terminal|iTerm2?|Finder|Dock)$/i;
const EVERYONE = /^(-1|1|-9)$/;
const everything = hit('system_modify', 'kill-everything');

/** `kill -9 -1` ends everything; `pkill -u root` and `pkill .` nearly so. */
export const judgeKill: Handler = (call) => {
  const critical = call.args.some(
    (arg) => isUnknown(arg) && (CRITICAL.test(withoutUnknown(arg)) || GUARDS.test(withoutUnknown(arg))),
  );
  if (critical || walksAll(call)) return everything;
  if (/\$\{?PPID\b/.test(call.cause) && !call.args.includes('-0')) return everything;
  const targets = call.args.slice(/^-(?!1$)/.test(call.args[0] ?? '') ? 1 : 0);
  if (call.name === 'kill') {
    const values = call.args[0] === '-s' ? call.args.slice(2) : targets;
    return values.some((arg) => arg === '-1' || arg === '1' || /[*?[]/.test(arg)) ||
      (call.args.length > 1 && EVERYONE.test(call.args.at(-1) ?? ''))
      ? everything
      : hit('bash_exec', 'kill');
  }
  if (call.name === 'xkill') return everything;
  if (call.name === 'taskkill')
    return call.args.some((arg) => /^(USERNAME|STATUS|\*)/i.test(arg))
      ? everything
      : hit('bash_exec', 'kill');
  const names = call.args.filter((arg) => !arg.startsWith('-')).flatMap(namesIn);
  if (names.some((name) => GUARDS.test(name) || CRITICAL.test(name))) return everything;
  if (names.filter((name) => KINDS.test(name)).length >= MANY_KINDS) return everything;
  const isAll = call.args.some(
    (arg, index) =>
      /^(-u|-U|--euid|--uid|-v|-t|--terminal|-s|--session)$/.test(arg) ||
      /^(\.[*+]?|\*|\^?\.?\*?\$?)$/.test(arg) ||
      (/^(-P|--parent)$/.test(call.args[index - 1] ?? '') && arg === '1') ||
      CRITICAL.test(arg),
  );
  return isAll ? everything : hit('bash_exec', 'kill');
};

const MANY_KINDS = 3;

/** The names that a pattern matches: `'sandbox|bwrap|auditd'`. */
function namesIn(pattern: string): string[] {
  return pattern.split('|').map((name) => name.replace(/^[\s^(]+|[\s$)*.]+$/g, ''));
}

/** Forms of a listing that name no program: every open file's owner, all of a user's, all of init's. */
const LISTS_AS_WELL = [
  /\btop\s+-\w*b\S*(?:\s+-\S+(?:\s+\d+)?)*/g,
  /\blsof(?:\s+-(?!\S*:\d)\S+)*(?:\s+\d?>\s*\S+)*\s*(?=[|)`]|$)/g,
  /\bpgrep(?:\s+-\w+)*?\s+-\w*(?:[uU]\s*[^\s|)]+|P\s*1)(?:\s+-\w+)*(?:\s+\d?>\s*\S+)*\s*(?=[|)`]|$)/g,
  /\bps(?:\s+-\S+)*?\s+-[uU]\s*[^\s|)]+/g,
];
/** Leaves out a heading or one line: no choice. */
const DROPS_HEADING = /\btail\s+(?:-n\s*)?\+\d+|\bhead\s+-n\s*-\d+/g;

function plainListing(line: string): string {
  let text = line.replace(/\d?>\s*\/dev\/null/g, '').replace(DROPS_HEADING, 'cat');
  for (const form of LISTS_AS_WELL) text = text.replace(form, 'ps -e ');
  return text;
}

const LISTS_ALL =
  /\bps\s+(?:-?[a-z]*[aAex]\w*\b|--everyone|-[a-zA-Z]*[eA])|\bls\s+(?:-\S+\s+)*\/proc\b|\/proc\/(?:\[0-9\]|\*|\[\[:digit)|\bfind\s+\/proc\b|\bpgrep\s+(?:-\S+\s+)*['"]?(?:\.\*?)?['"]?\s*(?:[|)]|$)/;
/** What leaves only some of a listing. */
const CHOOSES =
  /\brg\s+(?!-v)|\bpgrep\s+(?:-\S+\s+)*[\w'"/]{2}|\/[\w .\\-]{2,}\/|\$\d+\s*(?:[=!]?[=~]|[<>])|\bps\b[^|)]*\s(?:-C|--ppid|-p|--pid|-t|-u|-U|--user|-g|--sid)\b|\bhead\b|\btail\b|\bfzf\b|\bselect\b|\bcomm\s*[=!]=/;

/** The numbers come from a list of all processes, and nothing on the line chooses among them. */
function walksAll({ args, inspector }: Call): boolean {
  if (!args.some((arg) => isUnknown(arg) || arg.includes('/proc'))) return false;
  const line = plainListing(inspector.line);
  return LISTS_ALL.test(line) && !CHOOSES.test(line) && !greps(line);
}

/** Searches for a name; a search that only removes numbers finds everything. */
function greps(line: string): boolean {
  for (const [, options = '', pattern = ''] of line.matchAll(/(?<!p)grep\s+((?:-\S+\s+)*)(\S+)/g)) {
    const isNumber = /^['"]?\^?(?:\[0-9\]|\\d|\[\[:digit)/.test(pattern);
    if (!isNumber && !/(^|\s)-\w*v/.test(options)) return true;
  }
  return false;
}
