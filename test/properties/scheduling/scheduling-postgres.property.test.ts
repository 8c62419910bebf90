import { test } from 'node:test';
import { scaled } from '../../support/scale.ts';
import { onPostgres } from './scheduling-grounds.ts';
import { WHAT, worlds } from './scheduling-worlds.ts';

test(`on Postgres, ${WHAT}`, async (t) => worlds(t, await onPostgres(), scaled(8, 200)));
