// The migration guide's processChunk, word for word, and a frame for node:
// one JSON line of chunks per stream comes in, one JSON line of messages goes out.
let messages = []; //variable to hold all messages
let currentMessageIndex = 0; //variable to keep track of the current message index

function processChunk(chunk) {
  if (chunk.start) {
    const tempMessage = {};
    //add the new message's data to the tempMessage
    tempMessage.role = chunk.role;
    tempMessage.type = chunk.type;
    tempMessage.content = "";
    if (chunk.format) tempMessage.format = chunk.format;
    if (chunk.recipient) tempMessage.recipient = chunk.recipient;

    //add the new message to the messages array, and set the currentMessageIndex to the index of the new message
    messages.push(tempMessage);
    currentMessageIndex = messages.length - 1;
  }

  //Handle active lines for code blocks
  if (chunk.format === "active_line") {
    messages[currentMessageIndex].activeLine = chunk.content;
  } else if (chunk.end && chunk.type === "console") {
    messages[currentMessageIndex].activeLine = null;
  }

  //Add the content of the chunk to current message, avoiding adding the content of the active line
  if (chunk.content && chunk.format !== "active_line") {
    messages[currentMessageIndex].content += chunk.content;
  }
}

const lines = require("fs").readFileSync(0, "utf8").split("\n");
for (const line of lines.filter(Boolean)) {
  messages = [];
  currentMessageIndex = 0;
  for (const chunk of JSON.parse(line)) processChunk(chunk);
  console.log(JSON.stringify(messages));
}
