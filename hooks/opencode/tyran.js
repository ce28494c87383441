// tyran's plugin, made by `tyran setup`; `tyran uninstall` takes it away.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("./bin/tyran", import.meta.url))
const args = ["gate","--host","opencode","--event","tool.execute.before","--deadline","50"]
const limitMillis = 60000

const refusal = (payload) =>
  new Promise((resolve) => {
    const failed = (why) => resolve(`tyran: refused (installation)\nwhat:  ${program} ${why}\ndo:    run tyran doctor`)
    let said = ""
    try {
      const child = spawn(program, args, { stdio: ["pipe", "ignore", "pipe"] })
      const timer = setTimeout(() => {
        child.kill("SIGKILL")
        failed("gave no answer in time")
      }, limitMillis)
      child.stderr.on("data", (part) => (said += part))
      child.on("error", (error) => {
        clearTimeout(timer)
        failed(`could not be run: ${error.message}`)
      })
      child.on("close", (code) => {
        clearTimeout(timer)
        if (code === 0) resolve(undefined)
        else if (said.trim() !== "") resolve(said)
        else failed(`ended with ${code}`)
      })
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch (error) {
      failed(`could not be run: ${error}`)
    }
  })

export const Tyran = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const reason = await refusal({ input, output, directory })
    if (reason !== undefined) throw new Error(reason)
  },
})
