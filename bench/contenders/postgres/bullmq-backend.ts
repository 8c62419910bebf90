/** BullMQ on its Postgres backend; wake-ups by LISTEN/NOTIFY. */
import { BULLMQ_QUEUE, type BullMqBackend } from '../bullmq.ts';
import { Counter } from './counter.ts';

const SLOTS = 16;

const COUNT = `SELECT count(*) FILTER (WHERE state NOT IN ('completed', 'failed')) AS unfinished,
  count(*) FILTER (WHERE state = 'completed') AS finished FROM bullmq.job WHERE queue = '${BULLMQ_QUEUE}'`;

export async function postgresBackend(place: string): Promise<BullMqBackend> {
  const connection = { connectionString: place, max: SLOTS + 2, migrate: true };
  return { options: { connection }, slots: SLOTS, postgres: true, counter: await Counter.open(place, COUNT) };
}
