import { test } from 'node:test';
import { compare } from './compare.ts';
import { Ground } from './rig.ts';

// In a file of its own: the runner takes it beside the one in memory.
test('on a file the engine does what the model says, whatever happens', (t) => compare(t, new Ground('file')));
