/**
 * The one table of files and folders that contain a credential, in any place. The checks of paths and of code that
 * names one both use it.
 */
import { RUNTIME_DESCRIPTORS } from './runtime-descriptors.ts';

/** A folder counts with everything in it, a file also with an ending (`.cargo/credentials.toml`). */
export const CREDENTIAL_PATHS: readonly string[] = [
  ...['.ssh', 'id_rsa', 'id_ed25519', 'id_ecdsa', '.gnupg', '.password-store', '.local/share/keyrings'],
  ...[
    '.aws',
    '.azure',
    '.kube',
    '.kube/config',
    '.docker/config.json',
    '.vault-token',
    '.terraform.d/credentials',
  ],
  ...['.config/gcloud', '.config/gh', '.config/glab-cli', '.config/doctl', '.config/hub', '.git-credentials'],
  ...[
    '.netrc',
    '.pgpass',
    '.npmrc',
    '.pypirc',
    '.cargo/credentials',
    '.gem/credentials',
    '.composer/auth.json',
  ],
  ...['etc/shadow', 'run/secrets'],
  ...Object.values(RUNTIME_DESCRIPTORS).flatMap(({ loginFiles }) => loginFiles),
];

/** The parts of these that may be public: the public half of a key, settings that name no secret. */
const PUBLIC = String.raw`(?!/(?:known_hosts|config)\b|[^'"\`\s]*\.pub\b)`;

const CREDENTIAL = new RegExp(
  String.raw`(?:^|[/'"\`])(?:${CREDENTIAL_PATHS.map(escape).join('|')})(?![\w-])${PUBLIC}`,
);

/** Whether a path, or a path that stands in quotes in a text, is one of the table. */
export function namesCredential(text: string): boolean {
  return CREDENTIAL.test(text);
}

function escape(path: string): string {
  return path.replaceAll('.', String.raw`\.`);
}
