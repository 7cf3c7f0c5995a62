import { CaissonError } from '@caisson/protocol';

/** Stored bytes do not have the digest of their name. */
export class StoreCorruptError extends CaissonError {
  readonly code = 'STORE_CORRUPT';
  readonly digest: string;
  readonly file: string;
  readonly detail: string;

  constructor(digest: string, file: string, detail: string, where = `${digest} in ${file}`) {
    super(`store is corrupt: ${where}: ${detail}`, { remedy: describeRestoring(file) });
    this.digest = digest;
    this.file = file;
    this.detail = detail;
  }
}

/** What to do about a file of the store that is damaged. */
export function describeRestoring(file: string): string {
  return `caisson doctor names what needs it. caisson doctor --repair takes what it can from a damaged pack and from the bucket, if there is one; else restore ${file} from a backup.`;
}

/** The store does not have the digest. */
export class BlobMissingError extends CaissonError {
  readonly code = 'BLOB_MISSING';
  readonly digest: string;

  constructor(digest: string, where: string) {
    super(`store ${where} does not have ${digest}`, {
      remedy:
        'Restore it from a backup, or from the bucket if there is one; caisson doctor says what needs it.',
    });
    this.digest = digest;
  }
}

/** The store could not be read or written; says nothing about whether the content exists. */
export class StoreAccessError extends CaissonError {
  readonly code = 'STORE_ACCESS_FAILED';
  override readonly retryable = true;
}

/** A digest that is not 64 lowercase hex characters. */
export class InvalidDigestError extends CaissonError {
  readonly code = 'DIGEST_INVALID';
}

/** Materialising would mix the bundle with something that is already there. */
export class TargetOccupiedError extends CaissonError {
  readonly code = 'TARGET_OCCUPIED';
}

export type BundleRefusal =
  | 'absolute-path'
  | 'backslash'
  | 'case-collision'
  | 'changed-while-reading'
  | 'dot-segment'
  | 'invalid-name'
  | 'invalid-utf8'
  | 'malformed-manifest'
  | 'not-a-folder'
  | 'path-conflict'
  | 'proto-segment'
  | 'special-file'
  | 'symlink-out'
  | 'too-large'
  | 'too-many-files';

/** The folder or manifest cannot be a bundle; `reason` says which rule it breaks, `path` where. */
export class BundleRefusedError extends CaissonError {
  readonly code = 'BUNDLE_REFUSED';
  readonly reason: BundleRefusal;
  readonly path: string;

  constructor(reason: BundleRefusal, path: string, detail: string) {
    super(`bundle refused (${reason}) at ${JSON.stringify(path)}: ${detail}`, {
      remedy: 'Change or remove that path and try again.',
    });
    this.reason = reason;
    this.path = path;
  }
}
