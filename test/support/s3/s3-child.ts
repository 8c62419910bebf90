import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Afterwards, BUCKET } from './s3-server.ts';

/** The S3 server as a process that can be killed, and comes back at the address that it had. */
export class S3Child {
  readonly #folder: string;
  #child: ChildProcess | undefined;
  endpoint = '';

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(t: Afterwards, folder: string): Promise<S3Child> {
    const child = new S3Child(folder);
    t.after(() => child.kill());
    await child.start();
    return child;
  }

  /** The place of artifacts that it is. */
  get place(): string {
    return `s3://${BUCKET}/a?endpoint=${encodeURIComponent(this.endpoint)}&region=us-east-1&path_style=1&insecure=1`;
  }

  async start(): Promise<void> {
    const port = this.endpoint === '' ? '0' : new URL(this.endpoint).port;
    const program = join(import.meta.dirname, 'server-child.ts');
    const child = spawn(process.execPath, [program, this.#folder, port], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child = child;
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    this.endpoint = said.toString().trim();
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}
