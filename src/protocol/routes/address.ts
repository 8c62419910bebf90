import { z } from 'zod';
import { digits, pathName } from '../shapes/common.ts';

/** Where the routes of our own API begin. Routes of other programs stand where those programs look for them. */
export const API = '/api/v1';

export const oneTask = z.strictObject({ id: pathName('The id of a task') });
export const oneQueue = z.strictObject({ queue: pathName('The name of a queue') });
export const oneLimit = z.strictObject({ name: pathName('The name of a limit') });
export const oneSchedule = z.strictObject({ name: pathName('The name of a schedule') });
export const onePool = z.strictObject({ name: pathName('The name of a pool') });
export const oneWorker = z.strictObject({ name: pathName('The name of a worker') });
export const oneTag = z.strictObject({ name: pathName('The name of a tag') });
export const oneSession = z.strictObject({ id: pathName('The worker_id of the session') });
export const oneNode = z.strictObject({ id: pathName('The id of a node') });
export const oneToken = z.strictObject({ id: digits(z.number().min(1)).describe('The number of a token') });
