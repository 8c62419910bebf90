/** Where a contender of the hub suite works, told as JSON: a place is a text. */
export interface HubPlace {
  /** What the ground beneath has made: a file, or the address of a database. */
  readonly base: string;
  /** Of the store in it. */
  readonly store: string;
  /** Of BullMQ: Redis and the prefix of its keys, or a database. */
  readonly bullmq: { readonly redis: string; readonly prefix: string } | { readonly postgres: string };
  /** Where the node answers, once there is one, and the token that may do everything there. */
  readonly node?: { readonly address: string; readonly admin: string };
  readonly queue: string;
}

export function readPlace(place: string): HubPlace {
  return JSON.parse(place) as HubPlace;
}

export function writePlace(place: HubPlace): string {
  return JSON.stringify(place);
}

/**
 * Where a process warms up: on the same node and store, so that the node is warm too, in a queue of its own. A peer goes beside
 * its own place.
 */
export async function warmPlaceOf(text: string): Promise<string> {
  const place = readPlace(text);
  const queue = `warm-${process.pid}`;
  const { bullmq } = place;
  if ('redis' in bullmq) {
    return writePlace({ ...place, queue, bullmq: { ...bullmq, prefix: `${bullmq.prefix}-${queue}` } });
  }
  const { beside } = await import('../../ground/databases.ts');
  return writePlace({ ...place, queue, bullmq: { postgres: await beside(bullmq.postgres, `warm_${process.pid}`) } });
}
