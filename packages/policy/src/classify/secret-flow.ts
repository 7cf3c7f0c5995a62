/** Follows secrets through a line: from the file or program they come from to a program that sends them away. */
import { namesCredential } from '@caisson/protocol';
import { isSecretSource } from './secret-sources.ts';
import type { Call } from './inspector.ts';
import { SECRET, STORE, UNTRUSTED } from './unknown-text.ts';
import type { WrittenFiles } from './written-files.ts';

const SECRET_FILE =
  /(^|\/)\.env(\.(local|prod\w*|staging|live))?$|\.(pem|key|p12|pfx|jks|keystore|kdbx)$|(^|\/)(credentials|secrets?|service-?account)(\.(json|ya?ml|toml|txt|env))?$|^\/etc\/(shadow|gshadow|passwd|sudoers)$|^\/proc\/[\w*]+\/environ$|(^|\/)\.\w+_history$|(^|\/)\.vault-token$|(^|\/)(\.mozilla|\.thunderbird|\.electrum|\.bitcoin|\.ethereum\/keystore|\.config\/solana|\.config\/(google-chrome|chromium|BraveSoftware|microsoft-edge|vivaldi|opera|Slack|discord|Signal|op))(\/|$)|Library\/(Keychains|Messages|Cookies|Application Support\/(Google|Firefox|BraveSoftware|Microsoft Edge|Slack|Arc))|(^|\/)(wallet\.dat|Login Data|cookies\.sqlite|logins\.json|key4\.db|NTDS\.dit)$|^\/proc\/[^/]+\/mem$/;

/** Programs that pass on what is in the files they are given. */
export const READS_CONTENT: ReadonlySet<string> = new Set(
  'cat tac head tail base64 base32 xxd od hexdump tar zip gzip bzip2 xz cp openssl grep rg sed awk cut tr sort less bat dd strings jq gpg paste nl rev'.split(
    ' ',
  ),
);
const SENDS: ReadonlySet<string> = new Set(
  'curl wget http https xh curlie nc ncat netcat socat telnet ftp lftp ssh websocat wscat grpcurl dig nslookup host ping ping6 mail mailx mutt sendmail msmtp swaks mosquitto_pub kcat kafkacat nats ntfy slackcat pastebinit telegram-send httpie'.split(
    ' ',
  ),
);
const COPIES: ReadonlySet<string> = new Set(
  'scp sftp rsync aws gsutil gcloud az rclone s3cmd mc gh magic-wormhole wormhole croc transfer'.split(' '),
);
const ELSEWHERE = /^([\w.-]+@)?[\w.-]+:(?!\\)|^(s3|gs|az|r2):\/\/|^(gist|send)$/;
/** The files that a copy of many files selects: `--include '*.{pem,key}'`. */
const CHOOSES_KEYS = /^(?:--include=?)?\S*\*\S*\b(?:pem|key|kdbx|p12|pfx|id_rsa|env)\b/;
/** What authenticates a user: a secret is meant to be sent there. */
const PROVES_IDENTITY =
  /^(-H|--header|-u|--user|--oauth2-bearer|-b|--cookie|-i|-e|--key|--cert|-E|--cacert|-o|-O|--output)$/;
export const UPLOADS = /^(-T|--upload-file|--post-file|--body-file|-a)$/;
export const OWN_SERVER = /^(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[::1\])([:/]|$)/;

export function isSecretFile(path: string): boolean {
  return namesCredential(path) || SECRET_FILE.test(path);
}

/** The text of a file that is read: marked when the file is known to hold secrets. */
export function markedContent(path: string, files: WrittenFiles): string | undefined {
  const written = files.get(path);
  if (written === undefined) return isSecretFile(path) ? UNTRUSTED + SECRET : undefined;
  return written;
}

/** What a file is known to contain: by its name, or because the line copied or packed it there. */
export function marksOfFile(path: string, files: WrittenFiles): string {
  const content = markedContent(path, files) ?? '';
  return (
    files.marksOf(path) + (content.includes(SECRET) ? SECRET : '') + (content.includes(STORE) ? STORE : '')
  );
}

/** Whether a program's output contains a secret, as far as the line shows. */
export function emitsSecret({ name, args, stdin, inspector }: Call): boolean {
  if (stdin?.includes(SECRET) === true || isSecretSource(name, args)) return true;
  if (LOOKS_FOR.has(name) && args.some((arg) => FORM_OF_SECRET.test(arg))) return true;
  if (READS_CONTENT.has(name))
    return args.some(
      (arg) =>
        isSecretFile(arg) ||
        arg.includes(SECRET) ||
        isMarked(arg, args, inspector.files) ||
        arg.includes('--export-secret'),
    );
  switch (name) {
    case 'env':
    case 'printenv':
    case 'set':
      return args.every((arg) => arg === '-0');
    case 'security':
      return /^(find-\w+-password|dump-keychain|export)$/.test(args[0] ?? '');
    case 'secret-tool':
    case 'pass':
    case 'keyring':
      return /^(lookup|show|get)$/.test(args[0] ?? '');
    case 'export':
    case 'declare':
      return args.length === 1 && /^-[px]+$/.test(args[0] ?? '');
    case 'find':
    case 'fd':
      return args.some((arg) => NAMES_SECRET.test(arg));
    default:
      return false;
  }
}

const LOOKS_FOR = new Set(['grep', 'egrep', 'fgrep', 'zgrep', 'rg', 'ag', 'ack']);
/** The shape of a key, as a search looks for it. */
const FORM_OF_SECRET =
  /AKIA|\bgh[pousr]_|github_pat_|\bxox[abp]|\bsk-|glpat-|AIza|BEGIN[^|]{0,20}(?:PRIVATE|KEY)|(?:password|passwd|secret|token|api[_-]?key)\S*(?:[=|:]|\.\*)/i;

/** `tar c -C /tmp x` means /tmp/x. */
function isMarked(path: string, args: readonly string[], files: WrittenFiles): boolean {
  if (!files.hasMarks) return false;
  const folder = args[args.indexOf('-C') + 1] ?? '';
  return (
    files.marksOf(path).includes(SECRET) ||
    (args.includes('-C') && files.marksOf(`${folder.replace(/\/$/, '')}/${path}`).includes(SECRET))
  );
}

/** A search pattern for keys and passwords. */
const NAMES_SECRET =
  /^(\*?\.(pem|key|p12|pfx|kdbx|keystore|jks)|\*?id_(rsa|ed25519|ecdsa|\*|dsa)\*?|\.env(\*|\.\*|\.prod\w*)?|\*?credentials\*?|\*wallet\*?|wallet\.dat|\.(npmrc|pypirc|netrc|pgpass|git-credentials))$/;

/** Whether this command carries a secret off the machine. */
export function sendsSecret(call: Call): boolean {
  const { name, args, stdin, inspector } = call;
  const copies = COPIES.has(name) && args.some((arg) => ELSEWHERE.test(arg));
  const talks = SENDS.has(name) || (name === 'openssl' && args[0] === 's_client');
  if (!copies && !talks) return false;
  if (args.some((arg) => OWN_SERVER.test(arg))) return false;
  if (stdin?.includes(SECRET) === true) return true;
  if (copies && args.some((arg) => CHOOSES_KEYS.test(arg))) return true;
  return args.some((arg, index) => {
    const before = args[index - 1] ?? '';
    if (PROVES_IDENTITY.test(before)) return false;
    // A webhook's whole address may be a secret of the workflow that calls it.
    if (arg === SECRET && !/^(-d|--data\S*|-F|--form)$/.test(before)) return false;
    if (arg.includes(SECRET)) return true;
    const uploaded =
      /^(?:(?:--?[\w-]+=)?[\w-]*=?)?[@<]([^;]+)/.exec(arg)?.[1] ??
      /^--(?:post|body|upload)-file=(.+)$/.exec(arg)?.[1];
    const file = uploaded ?? (copies || UPLOADS.test(before) ? arg : undefined);
    return file !== undefined && marksOfFile(file, inspector.files).includes(SECRET);
  });
}
