import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import type { ClusterSecret } from '../../operate/cluster-secret.ts';
import type { ReleaseReport } from '../../protocol/frames.ts';

/** What a worker over HTTP said of itself when it registered. */
export interface WorkerSession {
  readonly name: string;
  /** Its incarnation, and its id in addresses. */
  readonly worker: string;
  /** The number of the secret that it authenticated with. The session ends with that secret. */
  readonly token: number;
  readonly handlers: readonly string[];
  readonly tags: readonly string[];
  readonly queues?: readonly string[] | undefined;
  readonly slots: number;
  readonly version?: string | undefined;
  readonly host?: string | undefined;
  readonly address?: string | undefined;
  readonly priority?: number | undefined;
  readonly pid?: number | undefined;
  readonly release?: ReleaseReport | undefined;
  /** Its program tells no incarnation: a worker of the same name and host that registers again is its next start. */
  readonly perHost?: boolean | undefined;
}

/** Session tokens carry the whole session, signed under the secret of the cluster, so that every node can go on with it. */
export class SessionTokens {
  readonly #key: KeyObject;

  constructor(secret: Pick<ClusterSecret, 'key'>) {
    this.#key = secret.key('worker sessions');
  }

  write(session: WorkerSession): string {
    const text = Buffer.from(JSON.stringify(session)).toString('base64url');
    return `${text}.${this.#sign(text).toString('base64url')}`;
  }

  read(token: string): WorkerSession {
    const [text = '', signature = '', ...more] = token.split('.');
    // Compared as texts: several texts decode to the same bytes.
    const given = Buffer.from([signature, ...more].join('.'));
    const right = Buffer.from(this.#sign(text).toString('base64url'));
    if (given.length !== right.length || !timingSafeEqual(given, right)) throw fault('UNAUTHENTICATED');
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as WorkerSession;
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest();
  }
}
