/** The few calls we make to an S3 server. The SDK is loaded with the first call: it costs start time. */
import type { Readable } from 'node:stream';
import { definedOnly } from '@caisson/protocol';

import type { S3Client } from '@aws-sdk/client-s3';

import { StoreAccessError } from './errors.ts';

export interface S3StoreOptions {
  readonly bucket: string;
  /** Put before every key, so that several stores can share a bucket. */
  readonly prefix?: string;
  /** Of a server other than AWS. */
  readonly endpoint?: string;
  readonly region?: string;
  /** Absent: the SDK's own chain. */
  readonly credentials?: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. Default: true when an endpoint is given. */
  readonly forcePathStyle?: boolean;
}

export interface S3Object {
  readonly key: string;
  readonly size: number;
  readonly modifiedAtMs: number;
}

const CONNECT_MS = 5000;
const SILENCE_MS = 30_000;

type Sdk = typeof import('./s3-sdk.ts');

export class S3Objects {
  readonly #options: S3StoreOptions;
  #loading: Promise<{ sdk: Sdk; client: S3Client }> | undefined;

  constructor(options: S3StoreOptions) {
    this.#options = options;
  }

  /** For messages: where an object is. */
  describe(key: string): string {
    return `s3://${this.#options.bucket}/${key}`;
  }

  /** null only when the server says that there is no such object. */
  async head(key: string): Promise<S3Object | null> {
    const { sdk, client } = await this.#load();
    return await this.#orNull(key, async () => {
      const head = await client.send(new sdk.HeadObjectCommand(this.#at(key)));
      return { key, size: head.ContentLength ?? 0, modifiedAtMs: head.LastModified?.getTime() ?? Date.now() };
    });
  }

  /** null only when the server says that there is no such object. */
  async get(key: string, range?: string): Promise<Readable | null> {
    const { sdk, client } = await this.#load();
    return await this.#orNull(key, async () => {
      const answer = await client.send(new sdk.GetObjectCommand({ ...this.#at(key), Range: range }));
      return asReadable(answer.Body, this.describe(key));
    });
  }

  async put(key: string, body: Uint8Array | Readable, size: number, signal?: AbortSignal): Promise<void> {
    const { sdk, client } = await this.#load();
    const command = new sdk.PutObjectCommand({ ...this.#at(key), Body: body, ContentLength: size });
    await this.#explain(key, () => client.send(command, { abortSignal: signal }));
  }

  async remove(key: string): Promise<void> {
    const { sdk, client } = await this.#load();
    await this.#explain(key, () => client.send(new sdk.DeleteObjectCommand(this.#at(key))));
  }

  async *list(prefix: string): AsyncGenerator<S3Object> {
    const { sdk, client } = await this.#load();
    let token: string | undefined;
    do {
      const command = new sdk.ListObjectsV2Command({
        Bucket: this.#options.bucket,
        Prefix: prefix,
        ContinuationToken: token,
      });
      const page = await this.#explain(prefix, () => client.send(command));
      for (const item of page.Contents ?? []) {
        if (item.Key === undefined) continue;
        yield {
          key: item.Key,
          size: item.Size ?? 0,
          modifiedAtMs: item.LastModified?.getTime() ?? Date.now(),
        };
      }
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  #at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#options.bucket, Key: key };
  }

  #load(): Promise<{ sdk: Sdk; client: S3Client }> {
    this.#loading ??= import('./s3-sdk.ts').then((sdk) => ({
      sdk,
      client: createClient(sdk, this.#options),
    }));
    return this.#loading;
  }

  async #orNull<T>(key: string, call: () => Promise<T>): Promise<T | null> {
    try {
      return await call();
    } catch (cause) {
      if (isNoSuchKey(cause)) return null;
      throw this.#accessError(key, cause);
    }
  }

  async #explain<T>(key: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (cause) {
      throw this.#accessError(key, cause);
    }
  }

  #accessError(key: string, cause: unknown): StoreAccessError {
    const detail = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    return new StoreAccessError(`cannot access ${this.describe(key)}: ${detail}`, {
      cause,
      remedy: 'Check endpoint, bucket, credentials and network of the remote store.',
    });
  }
}

function createClient(sdk: Sdk, options: S3StoreOptions): S3Client {
  return new sdk.S3Client({
    region: options.region ?? 'us-east-1',
    forcePathStyle: options.forcePathStyle ?? options.endpoint !== undefined,
    // A silent server must become an error: the SDK itself would wait for ever.
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
    // Our digests are stronger, and not every server knows the newer checksum headers.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...definedOnly({ endpoint: options.endpoint, credentials: options.credentials }),
  });
}

/** A missing bucket is also a 404, but it is a fault and not an absent blob. */
function isNoSuchKey(cause: unknown): boolean {
  if (!(cause instanceof Error) || cause.name === 'NoSuchBucket') return false;
  if (cause.name === 'NoSuchKey' || cause.name === 'NotFound') return true;
  return '$metadata' in cause && isRecord(cause.$metadata) && cause.$metadata['httpStatusCode'] === 404;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function asReadable(body: unknown, where: string): Readable {
  if (isRecord(body) && 'pipe' in body && typeof body['pipe'] === 'function')
    return body as unknown as Readable;
  throw new StoreAccessError(`cannot access ${where}: the answer has no body`);
}
