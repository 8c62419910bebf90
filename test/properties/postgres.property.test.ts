import { test } from 'node:test';
import { scaled } from '../support/scale.ts';
import { compare } from './compare.ts';
import { PostgresGround } from './postgres-ground.ts';

test('on Postgres the engine does what the model says, whatever happens', async (t) =>
  compare(t, await PostgresGround.open(), scaled(10, 60)));
