/** Keeps the duties, and is never killed. */
import { setTimeout as pause } from 'node:timers/promises';
import { open } from '../../../src/app/open.ts';
import { say } from '../parent.ts';
import { warningsOf } from './farm-warnings.ts';

const [url, folder, leaseMs] = process.argv.slice(2) as [string, string, string];
const app = await open(url, { leaseMs: Number(leaseMs), log: warningsOf(folder) });
while (!app.duties().includes('reaper') || !app.duties().includes('stager')) await pause(10);
say({ word: 'keeping' });
