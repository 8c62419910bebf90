/** Signed tasks, for the command line, which may not import the protocol. */
export {
  keyIdOf,
  readSigningKey,
  readTrustedKeys,
  signTask,
} from '../protocol/signed-task.ts';
