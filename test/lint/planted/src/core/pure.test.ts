import { later } from './pure.ts';

setImmediate(() => later({ now: Date.now, random: Math.random }, new Date()));
