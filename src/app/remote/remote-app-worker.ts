import { randomUUID } from 'node:crypto';
import type { Client } from '../../client/client.ts';
import { defaultWorkerName } from '../../config/worker-name.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { checkName } from '../../core/names.ts';
import type { Log } from '../../engine/log.ts';
import type { Hello, Link, Session } from '../../protocol/link.ts';
import type { Worker } from '../../worker/worker.ts';
import { type AppWorkerOptions, artifactPatienceOf, makeWorker } from '../worker.ts';
import { realWorld } from '../world.ts';

export interface RemoteWorkerOptions extends AppWorkerOptions {
  /** Together with `name`: the secret that `leasehold workers create` or `rotate` printed. */
  readonly secret?: string;
  /** Instead of both: a code that is good once. The secret that it gives is kept in memory only. */
  readonly code?: string;
  /** The only hosts beside its node that bytes of artifacts go to and come from; default: any by https, and this host. */
  readonly artifactHosts?: readonly string[];
}

interface Rights {
  readonly log: Log;
  /** There is a token, so the worker may register itself. */
  readonly mayRule: boolean;
}

/** The secret of an earlier process of that name stays good for this long, so that a process that still works is not cut off. */
const GRACE = '1h';

/** A worker of this process for a remote node. Its name and secret are settled when it starts. */
export function remoteAppWorker(client: Client, options: RemoteWorkerOptions, { log, mayRule }: Rights): Worker {
  const { secret, code, artifactHosts: hosts, ...rest } = options;
  if (secret !== undefined && code !== undefined) {
    throw fault('INVALID_INPUT', { field: 'code', problem: 'a secret is given as well; give one of them' });
  }
  if (secret !== undefined && rest.name === undefined) {
    throw fault('INVALID_INPUT', { field: 'name', problem: 'a secret belongs to a name, and none is given' });
  }
  if (secret === undefined && code === undefined && !mayRule) {
    throw fault(
      'UNAUTHENTICATED',
      {},
      {
        hint: 'Give { name, secret } or { code } as "leasehold workers create" has shown them, or open the node with a token.',
      },
    );
  }
  // Other processes may have the same host name and process id, in containers for instance.
  const name = rest.name ?? `${defaultWorkerName().slice(0, 54)}-${randomUUID().slice(0, 8)}`;
  const world = realWorld();
  const artifacts = { patienceMs: artifactPatienceOf(rest), hosts };
  const link = new EnrollingLink(async (hello, signal) => {
    const identity = await credentials(client, { name: checkName('worker name', name), secret, code }, hello, signal);
    // Loaded here: a program that only pushes needs no WebSocket.
    const { WsLink } = await import('../../worker/links/ws-link.ts');
    const [url, ...others] = client.origins;
    const session = await new WsLink({ url, others, secret: identity.secret, world, log, artifacts }).open(
      { ...hello, name: identity.name },
      signal,
    );
    return rest.name === undefined && identity.made ? removingName(session, client, identity.name) : session;
  });
  // One that registers itself says its tags; that of an operator has those of its name.
  return makeWorker(rest, { link, world, log, name, joined: secret !== undefined || code !== undefined });
}

/** This process has a token that may push whatever it likes: its tasks may do the same. */
const EVERYTHING = {
  handlers: ['*', 'shell', 'js', 'http'],
  queues: ['*'],
  tags: ['*'],
  workers: ['*'],
  limits: ['*'],
  channels: ['*'],
  reuse: true,
};

interface Identity {
  readonly name: string;
  readonly secret: string;
  /** The node made it for this worker. */
  readonly made: boolean;
}

async function credentials(
  client: Client,
  {
    name,
    secret,
    code,
  }: { readonly name: string; readonly secret: string | undefined; readonly code: string | undefined },
  { tags, handlers }: Hello,
  signal: AbortSignal | undefined,
): Promise<Identity> {
  if (secret !== undefined) return { name, secret, made: false };
  if (code !== undefined) return { ...(await client.call('enrolWorker', { body: { code }, signal })), made: false };
  try {
    const made = await client.call('createWorker', {
      body: { name, tags: [...tags], handlers: [...handlers], permissions: EVERYTHING },
      signal,
    });
    return { name, secret: made.secret as string, made: true };
  } catch (error) {
    if (!isEngineError(error, 'CONFLICT')) throw error;
  }
  // There is a worker of that name already: it gets another secret, the tags that it reports, and the handlers of the program as it is now.
  const body = {
    permissions: EVERYTHING,
    handlers: [...handlers],
    ...(tags.length === 0 ? {} : { addTags: [...tags] }),
  };
  await client.call('editWorker', { params: { name }, body, signal });
  return { ...(await client.call('rotateWorker', { params: { name }, body: { grace: GRACE }, signal })), made: false };
}

/** Gets the credentials first, then opens the real link. */
class EnrollingLink implements Link {
  readonly #open: Link['open'];

  constructor(open: Link['open']) {
    this.#open = open;
  }

  open(hello: Hello, signal?: AbortSignal): Promise<Session> {
    return this.#open(hello, signal);
  }
}

/** A generated name is removed when its worker leaves, so that such names do not pile up. */
function removingName(session: Session, client: Client, name: string): Session {
  const close = session.close.bind(session);
  session.close = async () => {
    await close();
    await client.call('removeWorker', { params: { name }, patienceMs: 0, timeoutMs: 2000 }).catch(() => {});
  };
  return session;
}
