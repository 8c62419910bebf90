import type { Client } from '../client/client.ts';
import type { LogLine } from '../store/store.ts';

const PAGE = 500;

/** The log of a task as it is now, from an attempt on. */
export async function* readLog(client: Client, id: string, from = 1): AsyncGenerator<LogLine> {
  let cursor = from === 1 ? undefined : `${from - 1}.${LAST}`;
  for (;;) {
    const query = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const page = await client.call('readLog', { params: { id }, query });
    yield* page.lines as readonly LogLine[];
    if (page.cursor === undefined || page.lines.length < PAGE) return;
    cursor = page.cursor;
  }
}

/** Above the number of any line. */
const LAST = 999_999_999_999_999;
