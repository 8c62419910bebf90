/** Changes the settings of a worker, or of several. */

import { client } from '../../api.ts';

export type Edit = Parameters<typeof client.call<'editWorker'>>[1]['body'];

export const editWorker = (name: string, body: Edit): Promise<unknown> =>
  client.call('editWorker', { params: { name }, body });

export const editWorkers = (names: readonly string[], body: Edit): Promise<unknown> =>
  Promise.all(names.map((name) => editWorker(name, body)));
