/** Keeps the duties, and is never killed. */
import { setTimeout as pause } from 'node:timers/promises';
import { open } from '../../src/app/open.ts';
import { say } from './parent.ts';

const [url, leaseMs] = process.argv.slice(2) as [string, string];
const app = await open(url, { leaseMs: Number(leaseMs) });
while (!app.duties().includes('reaper') || !app.duties().includes('stager')) await pause(10);
say({ word: 'keeping' });
