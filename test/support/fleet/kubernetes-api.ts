/**
 * The API of a cluster as far as Jobs go: a real server that keeps them by name, and takes only what the published schemas take. There is no
 * cluster behind it: no pod ever runs.
 */
import { createServer as createPlain, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { Ends } from '../leasehold.ts';
import { type Listening, listening } from './launching.ts';
import { type Manifest, problemsOf } from './manifests.ts';

export interface KubernetesApi extends Listening {
  readonly url: URL;
  /** By namespace and name. */
  readonly jobs: Map<string, object>;
  /** The tokens that requests had, in their order. */
  readonly tokens: (string | undefined)[];
}

export interface ApiOptions {
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Answers instead; false: as usual. */
  readonly answer?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Whether the connection is cut when the Job is made, instead of an answer. */
  readonly cut?: () => boolean;
}

const PATH = /^\/apis\/batch\/v1\/namespaces\/([a-z0-9-]+)\/jobs\?fieldManager=leasehold&fieldValidation=Strict$/;

export async function kubernetesApi(
  t: Ends,
  { tls, answer = () => false, cut = () => false }: ApiOptions = {},
): Promise<KubernetesApi> {
  const jobs = new Map<string, object>();
  const tokens: (string | undefined)[] = [];
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    tokens.push(request.headers.authorization?.replace('Bearer ', ''));
    if (!answer(request, response)) void create({ jobs, cut }, request, response);
  };
  const server = tls === undefined ? createPlain(onRequest) : createSecure(tls, onRequest);
  const listens = await listening(t, server);
  return {
    ...listens,
    jobs,
    tokens,
    url: new URL(`${tls === undefined ? 'http' : 'https'}://127.0.0.1:${listens.port}`),
  };
}

interface Kept {
  readonly jobs: Map<string, object>;
  readonly cut: () => boolean;
}

async function create({ jobs, cut }: Kept, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = (await request.setEncoding('utf8').toArray()).join('');
  const namespace = PATH.exec(request.url ?? '')?.[1];
  if (request.method !== 'POST' || namespace === undefined) return status(response, 404, 'NotFound', 'no such path');
  const job = JSON.parse(text) as Manifest;
  const problems = await problemsOf(job);
  if (problems.length > 0) return status(response, 422, 'Invalid', problems.join('; '));
  const key = `${namespace}/${job.metadata.name}`;
  if (job.metadata.namespace !== namespace) return status(response, 400, 'BadRequest', 'the namespace differs');
  if (jobs.has(key)) return status(response, 409, 'AlreadyExists', `jobs.batch "${job.metadata.name}" already exists`);
  jobs.set(key, job);
  if (cut()) return void request.socket.destroy();
  response.writeHead(201, { 'Content-Type': 'application/json' }).end(text);
}

/** The answer of a cluster to what it does not do. */
export function status(response: ServerResponse, code: number, reason: string, message: string): void {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code };
  response.writeHead(code, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
