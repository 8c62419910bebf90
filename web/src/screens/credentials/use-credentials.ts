/** Credentials, as fresh as the acknowledgements of workers make them. */

import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';

/** What a worker has acknowledged is no event of the feed. */
const EVERY_MS = 3_000;

export function useCredentials(enabled: boolean) {
  return useResource('credentials', (signal) => client.call('listCredentials', { signal }), {
    everyMs: EVERY_MS,
    enabled,
  });
}

export function useCredential(name: string) {
  return useResource(`credential ${name}`, (signal) => client.call('getCredential', { params: { name }, signal }), {
    everyMs: EVERY_MS,
  });
}
