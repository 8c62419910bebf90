import type { NameTaker } from '../../core/placement/name-hold.ts';
import type { Session } from '../../protocol/link.ts';
import type { CredentialDesk } from '../../server/credentials/desk.ts';
import type { ArtifactPlace } from './direct-artifacts.ts';
import type { GivenToName } from './worker-policy.ts';

/** Called before a worker of this name pushes a task to the queue; may refuse it. */
export type Admit = (worker: string, queue: string) => Promise<void> | undefined;

/** What was given to the name of a joined worker. */
export type GivenTo = (worker: string) => Promise<GivenToName>;

/** What a node asks of its workers. */
export type WorkTerms = Pick<Session, 'heartbeatMs' | 'runTimeoutMs'>;

/** Where joined workers are connected: this process. */
export type NamePlace = Pick<NameTaker, 'process' | 'node'>;

export interface DirectLinkOptions extends WorkTerms {
  readonly admit?: Admit;
  readonly givenTo?: GivenTo;
  readonly place?: NamePlace;
  /** Gives workers on the store itself the credentials that they were chosen for. Joined ones are given theirs by their gateway. */
  readonly desk?: CredentialDesk | undefined;
  /** Where the bytes of artifacts lie; undefined: this process keeps none. */
  readonly artifacts?: ArtifactPlace | undefined;
}
