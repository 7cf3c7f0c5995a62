/**
 * The keys of one folder: our signing key, made on first use, and the public keys we decided to trust.
 *
 *   signing-key.pem      PKCS #8, 0600
 *   agent/<keyid>.pem    public halves of the keys that an ssh-agent signed with for us
 *   trusted/<keyid>.pem  public keys of others
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { ifErrno, makeFolder, writeFileAtomic, writeNewFileSync } from '@caisson/ground';
import { CaissonError } from '@caisson/protocol';

import { findAgentKey, type AgentSigner } from './agent-key.ts';
import type { PublicKey, SigningKey } from './contract.ts';
import { KeyFolderError, KeyInvalidError, KeyUnknownError } from './errors.ts';
import { describePublicKey, parsePublicKey } from './public-key.ts';

export interface ListedKey {
  readonly keyId: string;
  /** `agent`: its private half is in an ssh-agent. */
  readonly origin: 'own' | 'agent' | 'trusted';
  readonly file: string;
  /** Whether the next seal is signed with it. */
  readonly signs: boolean;
}

export interface Keyring {
  /**
   * Our signing key: the agent's, or the file, which is made now if there is none. Processes that race for it get the
   * same one.
   */
  getSigningKey(): Promise<SigningKey>;
  /** Why the agent's key cannot sign now; null when it can, and when a key file signs. */
  findSignerProblem(): Promise<CaissonError | null>;
  list(): Promise<readonly ListedKey[]>;
  /** PEM of a known public key; ours when no id is given. */
  exportPublicKey(keyId?: string): Promise<string>;
  /** Trusts a public key from now on; idempotent. */
  trust(pem: string): Promise<PublicKey>;
  /** True when the key had been trusted. Our own key cannot be forgotten this way. */
  distrust(keyId: string): Promise<boolean>;
  /** Every key that `verify` may trust: our own keys, if there are any, and the trusted ones. Makes no key. */
  trustedKeys(): Promise<readonly PublicKey[]>;
}

/** Opens the keys of a folder; with `agent`, that one signs and no key file is made. Touches no disk. */
export function openKeyring(folder: string, agent: AgentSigner | null = null): Keyring {
  return new FolderKeyring(folder, agent);
}

class FolderKeyring implements Keyring {
  readonly #folder: string;
  readonly #own: string;
  readonly #trusted: string;
  readonly #agentKeys: string;
  readonly #agent: AgentSigner | null;

  constructor(folder: string, agent: AgentSigner | null) {
    this.#folder = folder;
    this.#agent = agent;
    this.#agentKeys = join(folder, 'agent');
    this.#own = join(folder, 'signing-key.pem');
    this.#trusted = join(folder, 'trusted');
  }

  async getSigningKey(): Promise<SigningKey> {
    if (this.#agent === null) return (await this.#findOwn()) ?? (await this.#createOwn());
    const known = await this.#readKeys(this.#agentKeys);
    const key = await findAgentKey(this.#agent, known);
    if (!known.some(({ keyId }) => keyId === key.keyId)) await this.#write(this.#agentKeys, key);
    return key;
  }

  async findSignerProblem(): Promise<CaissonError | null> {
    if (this.#agent === null) return null;
    try {
      await this.getSigningKey();
      return null;
    } catch (error) {
      if (error instanceof CaissonError) return error;
      throw error;
    }
  }

  async list(): Promise<readonly ListedKey[]> {
    const isUsable = (await this.findSignerProblem()) === null;
    const signing = this.#agent !== null && isUsable ? (await this.getSigningKey()).keyId : null;
    const own = await this.#findOwn();
    const inFolder = async (folder: string, origin: 'agent' | 'trusted'): Promise<ListedKey[]> =>
      (await this.#readKeys(folder)).map(({ keyId }) => ({
        keyId,
        origin,
        file: join(folder, `${keyId}.pem`),
        signs: keyId === signing,
      }));
    return [
      ...(own === null
        ? []
        : [{ keyId: own.keyId, origin: 'own' as const, file: this.#own, signs: this.#agent === null }]),
      ...(await inFolder(this.#agentKeys, 'agent')),
      ...(await inFolder(this.#trusted, 'trusted')),
    ];
  }

  async exportPublicKey(keyId?: string): Promise<string> {
    if (keyId === undefined) return (await this.getSigningKey()).pem;
    const found = (await this.trustedKeys()).find((key) => key.keyId === keyId);
    if (found !== undefined) return found.pem;
    throw new KeyUnknownError(`no key ${keyId} in ${this.#folder}`, { remedy: 'See "caisson keys list".' });
  }

  async trust(pem: string): Promise<PublicKey> {
    const key = parsePublicKey(pem, 'the given key');
    await this.#write(this.#trusted, key);
    return key;
  }

  async distrust(keyId: string): Promise<boolean> {
    if (!/^[0-9a-f]{64}$/.test(keyId)) throw new KeyInvalidError(`${JSON.stringify(keyId)} is not a key id`);
    const known = await this.#readKeys(this.#trusted);
    await rm(join(this.#trusted, `${keyId}.pem`), { force: true });
    return known.some((key) => key.keyId === keyId);
  }

  async trustedKeys(): Promise<readonly PublicKey[]> {
    const own = await this.#findOwn();
    return [
      ...(own === null ? [] : [own]),
      ...(await this.#readKeys(this.#agentKeys)),
      ...(await this.#readKeys(this.#trusted)),
    ];
  }

  async #findOwn(): Promise<SigningKey | null> {
    const pem = await this.#using(() => readIfThere(this.#own));
    if (pem === null) return null;
    const { mode } = await stat(this.#own);
    if ((mode & 0o077) !== 0) {
      throw new KeyInvalidError(
        `signing key ${this.#own} can be read by others (mode ${(mode & 0o777).toString(8)})`,
        {
          remedy: `Run "chmod 600 ${this.#own}"; if others may have copied it, remove it and a new one is made.`,
        },
      );
    }
    return parseSigningKey(pem, this.#own);
  }

  /** The first process wins, and the others use its key. */
  async #createOwn(): Promise<SigningKey> {
    await this.#using(async () => makeFolder(this.#folder));
    const { privateKey } = generateKeyPairSync('ed25519');
    writeNewFileSync(this.#own, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
    const key = await this.#findOwn();
    if (key === null)
      throw new KeyInvalidError(`signing key ${this.#own} vanished while it was made; try again`);
    return key;
  }

  async #write(folder: string, key: PublicKey): Promise<void> {
    await this.#using(async () => {
      makeFolder(folder);
      await writeFileAtomic(join(folder, `${key.keyId}.pem`), key.pem);
    });
  }

  async #readKeys(folder: string): Promise<PublicKey[]> {
    const names = await this.#using(() => listIfThere(folder));
    const keys: PublicKey[] = [];
    for (const name of names.filter((found) => found.endsWith('.pem')).toSorted()) {
      const file = join(folder, name);
      const key = parsePublicKey(await readFile(file, 'utf8'), file);
      if (`${key.keyId}.pem` !== name)
        throw new KeyInvalidError(`${file} holds another key (${key.keyId}); remove it`);
      keys.push(key);
    }
    return keys;
  }

  /** A system error names a path below HOME; this message says what the folder is for. */
  async #using<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof Error && 'syscall' in error ? new KeyFolderError(this.#folder, error) : error;
    }
  }
}

function parseSigningKey(pem: string, file: string): SigningKey {
  try {
    const privateKey = createPrivateKey({ key: pem, format: 'pem' });
    return {
      ...describePublicKey(createPublicKey(privateKey), file),
      sign: (data) => Promise.resolve(sign(null, data, privateKey)),
    };
  } catch (cause) {
    if (cause instanceof KeyInvalidError) throw cause;
    throw new KeyInvalidError(`signing key ${file} is damaged`, {
      cause,
      remedy:
        'Restore it from a backup, or move it away and a new one is made; old seals keep their old key id.',
    });
  }
}

async function readIfThere(file: string): Promise<string | null> {
  return await readFile(file, 'utf8').catch(ifErrno(null, 'ENOENT'));
}

async function listIfThere(folder: string): Promise<string[]> {
  return await readdir(folder).catch(ifErrno([], 'ENOENT'));
}
