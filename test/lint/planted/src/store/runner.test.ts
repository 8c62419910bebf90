import { test } from 'node:test';

test('the runner waits for this promise itself', () => {});
