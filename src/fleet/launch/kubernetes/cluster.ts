/** The API of the Kubernetes cluster that this process runs in, as far as a launcher needs it: one request. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { failure } from '../../../worker/handlers/failure.ts';
import { addressesOf, resolveName, unlessAborted } from '../../../worker/handlers/http/http.ts';
import { exchange, type HttpResponse, hostOf } from '../../../worker/handlers/http/http-exchange.ts';

export interface Cluster {
  readonly server: URL;
  /** Whose certificate the server has, in PEM. */
  readonly ca: string | undefined;
  /** Where Jobs are made that name no namespace. */
  readonly namespace: string;
  /** The token of the service account now: the cluster exchanges it every hour. */
  token(): Promise<string>;
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const MAX_ANSWER = 256 * 1024;

/** What every pod with a service account finds around it; undefined: this is no such pod. */
export function clusterAround(environment: NodeJS.ProcessEnv, account = ACCOUNT): Cluster | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT_HTTPS, KUBERNETES_SERVICE_PORT } = environment;
  const port = KUBERNETES_SERVICE_PORT_HTTPS ?? KUBERNETES_SERVICE_PORT ?? '443';
  if (host === undefined || host === '') return undefined;
  const file = (name: string): string => `${account}/${name}`;
  try {
    return {
      server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
      ca: readFileSync(file('ca.crt'), 'utf8'),
      namespace: readFileSync(file('namespace'), 'utf8').trim(),
      token: async () => (await readFile(file('token'), 'utf8')).trim(),
    };
  } catch {
    // A pod without a service account: it may not ask the cluster for anything.
    return undefined;
  }
}

export interface JobRequest {
  readonly namespace: string;
  readonly job: object;
  readonly signal: AbortSignal;
}

export async function createJob(cluster: Cluster, { namespace, job, signal }: JobRequest): Promise<HttpResponse> {
  const { server, ca } = cluster;
  signal.throwIfAborted();
  // Who names the server is the cluster itself, not the author of a pool, so any address may be reached.
  const addresses = await unlessAborted(signal, addressesOf(hostOf(server), resolveName));
  const token = await cluster.token().catch(() => {
    throw failure('NO_TOKEN', 'The token of the service account cannot be read.');
  });
  const headers = {
    Accept: 'application/json',
    'Content-Type': 'application/json',
    'User-Agent': 'leasehold',
    Authorization: `Bearer ${token}`,
  };
  const path = `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs?fieldManager=leasehold&fieldValidation=Strict`;
  const url = new URL(path, server);
  const body = JSON.stringify(job);
  return exchange({ method: 'POST', url, headers, body, addresses, signal, ca, maxBody: MAX_ANSWER }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      throw failure('UNREACHABLE', `The API of the cluster did not answer: ${(error as Error).message}.`);
    },
  );
}
