/** Adds jobs to the pool: node seed.ts COUNT [SECONDS] */
import { createWorkBackend } from 'leasehold/compat';

const [count = '10', delay = '0'] = process.argv.slice(2);
const work = await createWorkBackend({ type: 'sqlite', sqlite_path: './pool.sqlite' });
const pool = work.pool('papers');
for (let paper = 1; paper <= Number(count); paper++) await pool.push({ paper, delay_seconds: Number(delay) });
console.log(`${await pool.size()} jobs wait`);
await work.close();
