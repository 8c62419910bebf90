import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver, { type Call } from 's3rver';
import type { S3Credentials } from '../../../src/artifacts/s3/bucket.ts';

export const BUCKET = 'artifacts';
export const CREDENTIALS: S3Credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

const FULL = `<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>XMinioStorageFull</Code><Message>Storage backend has reached its minimum free drive threshold. Please delete a few objects to proceed.</Message></Error>`;

/** A test, or a file of tests. */
export interface Afterwards {
  after(end: () => void | Promise<void>): void;
}

/** A real S3 server on the loopback, over files. It checks no signatures and gives up no uploads: the gate in front of it does. */
export class S3Server {
  readonly #folder: string;
  readonly #server: S3rver;
  port = 0;

  /** Uploads that are under way: what ends each as a full disk does. */
  readonly #going = new Set<() => void>();

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#server = new S3rver({
      address: '127.0.0.1',
      port,
      directory: folder,
      silent: true,
      configureBuckets: [{ name: BUCKET }],
    });
    this.#server.middleware.unshift((call, next) => this.#answer(call, next));
  }

  static async start(t: Afterwards, folder?: string, port = 0): Promise<S3Server> {
    const own = folder ?? mkdtempSync(join(tmpdir(), 'leasehold-s3-'));
    const server = new S3Server(own, port);
    server.port = (await server.#server.run()).port;
    t.after(async () => {
      await server.#server.close();
      if (folder === undefined) rmSync(own, { recursive: true, force: true });
    });
    return server;
  }

  /** Its disk is full: every upload that is under way is refused in the words of MinIO, and nothing of it is left. */
  refuseFull(): void {
    for (const end of this.#going) end();
  }

  async #answer(call: Call, next: () => Promise<void>): Promise<void> {
    if (call.method !== 'PUT') return next();
    const full = Promise.withResolvers<'full'>();
    const end = (): void => full.resolve('full');
    this.#going.add(end);
    try {
      if ((await Promise.race([next(), full.promise])) !== 'full') return;
    } finally {
      this.#going.delete(end);
    }
    rmSync(join(this.#folder, `${decodeURIComponent(call.path)}._S3rver_object`), { force: true });
    call.req.unpipe().resume();
    call.status = 507;
    call.body = FULL;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Whether the upload was begun, and neither completed nor given up. */
  hasUpload(id: string): boolean {
    return /^[0-9a-f]+$/.test(id) && existsSync(join(this.#uploads, id));
  }

  uploads(): readonly { readonly id: string; readonly key: string; readonly begunAt: Date }[] {
    if (!existsSync(this.#uploads)) return [];
    return readdirSync(this.#uploads).map((id) => {
      const file = join(this.#uploads, id, 'key');
      return { id, key: readFileSync(file, 'utf8'), begunAt: statSync(file).mtime };
    });
  }

  /** As if it had begun two days ago. */
  ageUpload(key: string): void {
    const then = new Date(Date.now() - 2 * 86_400_000);
    for (const upload of this.uploads())
      if (upload.key === key) utimesSync(join(this.#uploads, upload.id, 'key'), then, then);
  }

  /** The one verb that it lacks. */
  abortUpload(id: string): void {
    rmSync(join(this.#uploads, id), { recursive: true });
  }

  get #uploads(): string {
    return join(this.#folder, BUCKET, '._S3rver_uploads');
  }

  /** Parts of uploads that were neither completed nor given up. */
  leftovers(): readonly string[] {
    return this.#files().filter((file) => file.includes('uploads'));
  }

  objects(): readonly string[] {
    return this.#files().filter((file) => file.endsWith('_object') && !file.includes('uploads'));
  }

  #files(): readonly string[] {
    return readdirSync(this.#folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.#folder.length + 1))
      .toSorted();
  }
}
